// `make bench-packet`: CPU per packet-hop of the packet model on k-ary fat-trees of 128, 1,024 and 8,192 hosts: 400 Gb/s, 0.5 us links, 4096 B
// packets without headers, a permutation of 2 MB, PFC, ECMP per flow, every ACK simulated, counters of every port kept. One thread by default.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "sim/packet/summary.h"
#include "sim/packet/traffic.h"

namespace {

using namespace weft;
using namespace weft::sim::packet;

double cpu_seconds(const rusage& u) {
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

int one(int k, int threads, int repeats) {
  double best_cpu = 1e300, worst_cpu = 0, best_wall = 1e300;
  std::uint64_t hops = 0;
  std::size_t hosts = 0;
  Percentiles fct;
  for (int i = 0; i < repeats; ++i) {
    auto net = fat_tree(k, gbps(400), Picos(500'000));
    if (!net) return fmt::print("{}\n", net.error().text()), 1;
    Config c;
    c.htsim_roce(k);
    auto flows = traffic(*net, "permutation", Bytes(2'000'000), 1);
    if (!flows) return fmt::print("{}\n", flows.error().text()), 1;
    RunControl control;
    control.threads = threads;
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    auto begun = std::chrono::steady_clock::now();
    auto out = simulate(*net, c, *flows, control);
    double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    getrusage(RUSAGE_SELF, &after);
    if (!out) return fmt::print("{}\n", out.error().text()), 1;
    if (auto no = complaints(*net, c, *out); !no.empty()) return fmt::print("not whole: {}\n", no[0]), 1;
    double cpu = cpu_seconds(after) - cpu_seconds(before);
    best_cpu = std::min(best_cpu, cpu), worst_cpu = std::max(worst_cpu, cpu), best_wall = std::min(best_wall, wall);
    hops = out->packet_hops, hosts = net->hosts.size(), fct = completion(out->flows);
  }
  rusage all;
  getrusage(RUSAGE_SELF, &all);
  fmt::print(
      "{:>5} hosts: {:.2f} M packet-hops/s ({:.1f} M packet-hops, {} runs: {:.2f} to {:.2f} s CPU, {:.2f} s wall on {} threads, {} MB; "
      "completion median {:.1f} us, max {:.1f} us)\n",
      hosts, static_cast<double>(hops) / best_cpu * 1e-6, static_cast<double>(hops) * 1e-6, repeats, best_cpu, worst_cpu, best_wall,
      threads, all.ru_maxrss / 1024, static_cast<double>(fct.median.value()) * 1e-6, static_cast<double>(fct.most.value()) * 1e-6);
  return 0;
}

}  // namespace

// packet_speed [threads [runs [k …]]]
int main(int argc, char** argv) {
  int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1, repeats = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3;
  std::vector<int> sizes;
  for (int i = 3; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {8, 16, 32};
  for (int k : sizes)
    if (int rc = one(k, threads, repeats); rc != 0) return rc;
  return 0;
}
