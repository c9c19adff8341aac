// A Count as a report for people and as JSON for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabric/count.h"

namespace weft::fabric {
namespace {

std::string rate(BitsPerSecond r) { return r.value() > 0 ? human(r) : "not known"; }
std::string length(double m) { return m < 0 ? "not known" : fmt::format("{:g} m", m); }
std::string ratio(const NetworkCount& n) {
  return n.oversubscription <= 0 ? "–"
                                 : fmt::format("{:.3g} : 1{}", n.oversubscription,
                                               n.oversubscribed_tier >= 0 ? fmt::format(" (tier {})", n.oversubscribed_tier) : "");
}

}  // namespace

Report to_report(const Count& c, const Snapshot& s) {
  Report r;
  r.title = "Count of " + s.site_name();
  Section parts{"Parts", {}, {}, {}, {}};
  for (auto [kind, n] : c.devices) parts.facts.emplace_back(std::string(kind_name(kind)), fmt::format("{}", n));
  parts.facts.emplace_back("ports", fmt::format("{} ({} free)", c.ports, c.free_ports));
  parts.facts.emplace_back("links", fmt::format("{} ({} spare)", c.links, c.spare_links));
  parts.facts.emplace_back("cables", fmt::format("{}", c.cables));
  parts.facts.emplace_back("optical modules",
                           fmt::format("{}{}", c.optical_modules, c.optics_power.value() > 0 ? ", " + human(c.optics_power) : ""));
  if (c.aggregate) parts.facts.emplace_back("scale-up, all cards, both directions", human(*c.aggregate));
  r.sections.push_back(parts);

  Section networks{"Networks",
                   {"Rates in one direction. Bisection: largest flow from the first half of the end points to the second. Scale-up domains "
                    "alike are measured once."},
                   {},
                   {},
                   {}};
  Table t{"",
          {{"network"},
           {"alike", Align::kRight},
           {"end points", Align::kRight},
           {"switches", Align::kRight},
           {"links", Align::kRight},
           {"spare", Align::kRight},
           {"injection", Align::kRight},
           {"bisection", Align::kRight},
           {"oversubscribed", Align::kRight}},
          {}};
  for (const NetworkCount& n : c.networks)
    t.rows.push_back({n.name, fmt::format("{}", n.same), fmt::format("{}", n.end_points), fmt::format("{}", n.switches),
                      fmt::format("{}", n.links), fmt::format("{}", n.spare_links), rate(n.injection), rate(n.bisection), ratio(n)});
  networks.tables.push_back(t);
  r.sections.push_back(networks);

  Section cables{"Links by medium, length and rate", {}, {}, {}, {}};
  Table k{"", {{"medium"}, {"length", Align::kRight}, {"rate", Align::kRight}, {"links", Align::kRight}, {"cables", Align::kRight}}, {}};
  for (const CableCount& x : c.by_cable)
    k.rows.push_back(
        {std::string(medium_name(x.medium)), length(x.length_m), rate(x.rate), fmt::format("{}", x.links), fmt::format("{}", x.cables)});
  cables.tables.push_back(k);
  r.sections.push_back(cables);

  if (!c.racks.empty()) {
    Section racks{"Power per rack", {"Sum over parts whose power is known; 'rated' is what the site file says."}, {}, {}, {}};
    Table p{"",
            {{"rack"},
             {"nodes", Align::kRight},
             {"cards", Align::kRight},
             {"parts", Align::kRight},
             {"parts without a figure", Align::kRight},
             {"rated", Align::kRight},
             {"cooling"}},
            {}};
    for (std::size_t i = 0; i < std::min<std::size_t>(c.racks.size(), 40); ++i) {
      const RackPower& x = c.racks[i];
      p.rows.push_back({s.name(x.rack), fmt::format("{}", x.nodes), fmt::format("{}", x.cards), human(x.parts),
                        fmt::format("{}", x.unknown_parts), x.rated ? human(*x.rated) : "not known",
                        x.cooling.empty() ? "not known" : x.cooling});
    }
    if (c.racks.size() > 40) racks.paragraphs.push_back(fmt::format("The first 40 of {} racks; --json has all.", c.racks.size()));
    racks.tables.push_back(p);
    r.sections.push_back(racks);
  }

  Section single{"Single points of failure", {}, {}, {}, {}};
  Table f{"", {{"device"}, {"network"}, {"end points cut off", Align::kRight}}, {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(c.cut_points.size(), 40); ++i)
    f.rows.push_back(
        {s.name(c.cut_points[i].device), std::string(network_name(c.cut_points[i].network)), fmt::format("{}", c.cut_points[i].cut_off)});
  if (c.cut_points.empty()) single.paragraphs.push_back("None among the switches.");
  else single.tables.push_back(f);
  if (c.cut_points.size() > 40) single.paragraphs.push_back(fmt::format("The first 40 of {}; --json has all.", c.cut_points.size()));
  r.sections.push_back(single);

  Section mesh{"If it were a full mesh", {"Every pair joined directly: n(n-1)/2 links and n-1 ports per card."}, {}, {}, {}};
  Table m{"", {{"cards", Align::kRight}, {"links", Align::kRight}, {"ports per card", Align::kRight}}, {}};
  for (std::uint64_t n : {std::uint64_t{8}, std::uint64_t{64}, static_cast<std::uint64_t>(s.cards().size()), std::uint64_t{1000}})
    if (n > 1) m.rows.push_back({fmt::format("{}", n), fmt::format("{}", mesh_links(n)), fmt::format("{}", n - 1)});
  mesh.tables.push_back(m);
  r.sections.push_back(mesh);
  return r;
}

Json to_json(const Count& c, const Snapshot& s) {
  auto known = [](double v) { return v > 0 ? Json(v) : Json(nullptr); };
  Json j;
  j["site"] = s.site_name();
  for (auto [kind, n] : c.devices) j["devices"][std::string(kind_name(kind))] = n;
  j["ports"] = c.ports, j["free_ports"] = c.free_ports, j["links"] = c.links, j["spare_links"] = c.spare_links, j["cables"] = c.cables;
  j["optical_modules"] = c.optical_modules, j["optics_watts"] = c.optics_power.value();
  j["scale_up_bytes_per_second_both_directions"] = c.aggregate ? Json(c.aggregate->value()) : Json(nullptr);
  j["networks"] = Json::array();
  for (const NetworkCount& n : c.networks)
    j["networks"].push_back({{"name", n.name},
                             {"network", network_name(n.network)},
                             {"alike", n.same},
                             {"end_points", n.end_points},
                             {"switches", n.switches},
                             {"links", n.links},
                             {"spare_links", n.spare_links},
                             {"injection_bits_per_second", known(n.injection.value())},
                             {"bisection_bits_per_second", known(n.bisection.value())},
                             {"oversubscription", known(n.oversubscription)}});
  j["cables_by_kind"] = Json::array();
  for (const CableCount& k : c.by_cable)
    j["cables_by_kind"].push_back({{"medium", medium_name(k.medium)},
                                   {"length_m", k.length_m < 0 ? Json(nullptr) : Json(k.length_m)},
                                   {"bits_per_second", known(k.rate.value())},
                                   {"links", k.links},
                                   {"cables", k.cables}});
  j["racks"] = Json::array();
  for (const RackPower& r : c.racks)
    j["racks"].push_back({{"rack", s.name(r.rack)},
                          {"nodes", r.nodes},
                          {"cards", r.cards},
                          {"known_parts_watts", r.parts.value()},
                          {"parts_without_figure", r.unknown_parts},
                          {"rated_watts", r.rated ? Json(r.rated->value()) : Json(nullptr)},
                          {"cooling", r.cooling.empty() ? Json(nullptr) : Json(r.cooling)}});
  j["single_points_of_failure"] = Json::array();
  for (const CutPoint& p : c.cut_points)
    j["single_points_of_failure"].push_back({{"device", s.name(p.device)}, {"network", network_name(p.network)}, {"cut_off", p.cut_off}});
  j["full_mesh_links"] = mesh_links(s.cards().size());
  return j;
}

}  // namespace weft::fabric
