// Any bytes as slurm.conf and as gres.conf beside a small topology.conf.
#include "fabric/slurm_text.h"
#include "import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (auto add : {&weft::fabric::add_slurm_conf, &weft::fabric::add_gres_conf}) {
    auto o = weft::fabric::import_text("SwitchName=s0 Nodes=n[1-3]\nSwitchName=s1 Nodes=n4,m1\n", "topology.conf");
    if (!o) abort();
    if (add(*o, text, "fuzz.txt").has_value()) weft::fuzz::check(*o);
  }
  return 0;
}
