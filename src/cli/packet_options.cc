#include "cli/packet_options.h"

#include <fmt/format.h>

#include "base/quantity.h"
#include "fabric/site.h"
#include "sim/packet/from_site.h"

namespace weft::cli {

using namespace sim::packet;

const std::vector<OptionSpec>& packet_option_specs() {
  static const std::vector<OptionSpec> specs = {
      {"--network", "ROLE", "scale-out (default) or scale-up"},
      {"--fat-tree", "K", "instead of a site: k-ary fat-tree of K³/4 hosts"},
      {"--rate", "R", "with --fat-tree: of every link (default 400 Gb/s)"},
      {"--delay", "T", "with --fat-tree: of every link, one way (default 0.5 us)"},
      {"--mtu", "N", "payload of a full packet (default 4096)"},
      {"--framing", "F", "roce (default: RoCEv2 over IPv4, 82 bytes a packet) or htsim (no headers, last packet padded)"},
      {"--lossy", "", "no PFC: the data class drops when its queue is full"},
      {"--alpha", "X", "dynamic XOFF threshold as a share of the free buffer (default 0.125)"},
      {"--xoff", "N", "static XOFF threshold per port and class instead"},
      {"--xon-gap", "N", "resume this far below the threshold (default 8356 B)"},
      {"--headroom", "N", "per port and class (default: computed)"},
      {"--buffer", "N", "of switches whose model does not say (default 64 MB)"},
      {"--kmin", "N", "ECN: marking begins at this queue"},
      {"--kmax", "N", "ECN: every packet is marked from here on (default: no marking)"},
      {"--pmax", "P", "ECN: probability at kmax (default 1)"},
      {"--mark", "WHEN", "ECN: enqueue (default) or dequeue"},
      {"--control", "C", "none (default), dcqcn, swift, dctcp or nscc"},
      {"--balance", "B", "flow (default: ECMP by hash), spray or adaptive"},
      {"--recovery", "R", "go-back-n (default), selective or go-back-0; spray and adaptive need selective"},
      {"--window", "N", "most packets of a flow in flight (default: no limit)"},
      {"--one-hash", "", "all switches hash with one seed (polarisation)"},
      {"--watchdog", "T", "PFC watchdog detection time (default off)"},
  };
  return specs;
}

namespace {

Result<std::int64_t> bytes_of(const Options& o, const char* name, std::int64_t fallback) {
  if (!o.has(name)) return fallback;
  auto v = parse_quantity(o.get(name), "B");
  if (!v) return std::unexpected(v.error().in(fmt::format("--{}", name)));
  return static_cast<std::int64_t>(*v);
}

Result<Picos> time_of_option(const Options& o, const char* name, Picos fallback) {
  if (!o.has(name)) return fallback;
  auto v = parse_quantity(o.get(name), "s");
  if (!v) return std::unexpected(v.error().in(fmt::format("--{}", name)));
  return to_picos(Seconds(std::min(*v, 1e6)));
}

template <class T>
Result<T> choice(const Options& o, const char* name, T fallback, std::initializer_list<std::pair<std::string_view, T>> known) {
  if (!o.has(name)) return fallback;
  std::string text = o.get(name), names;
  for (auto [word, value] : known) {
    if (word == text) return value;
    names += (names.empty() ? "" : ", ") + std::string(word);
  }
  return fail(ErrorKind::kInvalid, fmt::format("--{} {}: {}", name, text, names));
}

}  // namespace

Result<Config> packet_config(const Options& o) {
  Config c;
  ClassConfig& data = c.classes[0];
  WEFT_ASSIGN(bool htsim, choice(o, "framing", false, {{"roce", false}, {"htsim", true}}));
  if (htsim) c.htsim_framing();
  WEFT_ASSIGN(c.mtu, bytes_of(o, "mtu", c.mtu));
  WEFT_ASSIGN(data.alpha, o.number("alpha", data.alpha, 0, 128));
  WEFT_ASSIGN(data.xoff, bytes_of(o, "xoff", 0));
  if (o.has("xoff")) {
    if (o.has("alpha")) return fail(ErrorKind::kInvalid, "--alpha and --xoff: one of them, a dynamic threshold or a static one");
    data.alpha = 0;
  }
  WEFT_ASSIGN(data.xon_gap, bytes_of(o, "xon-gap", data.xon_gap));
  WEFT_ASSIGN(data.headroom, bytes_of(o, "headroom", -1));
  WEFT_ASSIGN(c.buffer, bytes_of(o, "buffer", c.buffer));
  WEFT_ASSIGN(data.kmax, bytes_of(o, "kmax", 0));
  WEFT_ASSIGN(data.kmin, bytes_of(o, "kmin", 0));
  WEFT_ASSIGN(data.pmax, o.number("pmax", 1, 0, 1));
  WEFT_ASSIGN(c.mark_at_dequeue, choice(o, "mark", false, {{"enqueue", false}, {"dequeue", true}}));
  data.lossless = !o.has("lossy");
  WEFT_ASSIGN(c.control, choice(o, "control", Control::kNone,
                                {{"none", Control::kNone},
                                 {"dcqcn", Control::kDcqcn},
                                 {"swift", Control::kSwift},
                                 {"dctcp", Control::kDctcp},
                                 {"nscc", Control::kNscc}}));
  WEFT_ASSIGN(c.balance, choice(o, "balance", Balance::kFlow,
                                {{"flow", Balance::kFlow}, {"spray", Balance::kSpray}, {"adaptive", Balance::kAdaptive}}));
  Recovery usual = c.balance == Balance::kFlow ? Recovery::kGoBackN : Recovery::kSelective;
  WEFT_ASSIGN(c.recovery,
              choice(o, "recovery", usual,
                     {{"go-back-n", Recovery::kGoBackN}, {"selective", Recovery::kSelective}, {"go-back-0", Recovery::kGoBackZero}}));
  if (c.balance != Balance::kFlow) c.reorder = 512;
  WEFT_ASSIGN(c.window, o.integer("window", 0, 0, 32768));
  c.one_hash_seed = o.has("one-hash");
  WEFT_ASSIGN(c.watchdog, time_of_option(o, "watchdog", Picos(0)));
  return c;
}

Result<Network> packet_network(const Options& o, std::string& where) {
  if (o.has("fat-tree")) {
    if (!o.positional.empty() || o.has("site")) return fail(ErrorKind::kInvalid, "a site or --fat-tree, not both");
    WEFT_ASSIGN(std::int64_t k, o.integer("fat-tree", 8, 2, 40));
    auto rate = parse_quantity(o.get("rate", "400 Gb/s"), "Gb/s");
    if (!rate) return std::unexpected(rate.error().in("--rate"));
    WEFT_ASSIGN(Picos delay, time_of_option(o, "delay", Picos(500'000)));
    where = fmt::format("a fat-tree of k {}", k);
    return fat_tree(static_cast<int>(k), BitsPerSecond(*rate), delay);
  }
  if (o.positional.size() > 1) return fail(ErrorKind::kInvalid, fmt::format("one site, not also '{}'", o.positional[1]));
  std::string name = o.positional.empty() ? o.get("site") : o.positional[0];
  if (name.empty()) return fail(ErrorKind::kInvalid, "name a site (weft list sites) or give --fat-tree K");
  auto role = fabric::parse_network(o.get("network", "scale-out"));
  if (!role) return fail(ErrorKind::kInvalid, fmt::format("--network {}: scale-out or scale-up", o.get("network")));
  WEFT_ASSIGN(fabric::Snapshot site, fabric::load_site(name));
  where = fmt::format("{} ({})", site.site_name(), fabric::network_name(*role));
  return from_site(site, *role);
}

}  // namespace weft::cli
