// Storage that makes everybody wait.
#include <algorithm>

#include "twin/fault.h"

namespace weft::twin {
namespace {

Storage& storage_of(State& s, const Active& a) { return s.storages[static_cast<std::size_t>(s.index_of(a.target.device))]; }

// Reads slow down until they no longer hide behind the step: data time shows on all ranks, collectives' own time does not change.
void loading(State& s, Active& a) {
  Storage& st = storage_of(s, a);
  st.knobs.read = 1 + s.parameters->get("slow_data_loading.factor") * (0.5 + 0.5 * a.magnitude);
  st.knobs.latency = st.knobs.read * 1.5;
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"slow_data_loading", "data loading slow", Sits::kStorage, Shows::kStep, {"work_order"}, loading, nullptr, nullptr, nullptr, false});

// All clients write together: saves take 5 to 10 times longer, iowait up in that window, quiet between (strict period).
void saves(State& s, Active& a) {
  Storage& st = storage_of(s, a);
  st.knobs.write = s.parameters->get("checkpoint_storm.factor") * (0.6 + 0.4 * a.magnitude);
  st.knobs.latency = 1.1;
  for (JobKnobs& j : s.jobs) j.aligned_checkpoints = true;
  a.showing = a.showing || st.write_rate > 1e9;  // nothing to see before somebody saves
}
WEFT_REGISTER(faults(), {"checkpoint_storm",
                         "checkpoints of several jobs written together",
                         Sits::kStorage,
                         Shows::kStep,
                         {"work_order"},
                         saves,
                         nullptr,
                         nullptr,
                         nullptr,
                         false});

}  // namespace
}  // namespace weft::twin
