// A link that is down, flaps, or came up at half its rate.
#include "twin/fault.h"

namespace weft::twin {
namespace {

bool network(const State& s, const Target& t) { return s.ethernet(t.link); }

// Alibaba HPN (SIGCOMM'24): port down, traffic of that rail stops; single-homed jobs stop at once.
void down(State& s, Active& a) {
  s.links[a.target.link.v].state = fabric::LinkState::kDown;
  a.showing = true;
}
WEFT_REGISTER(faults(),
              {"link_down", "link goes down and stays down", Sits::kLink, Shows::kAtOnce, {"work_order"}, down, nullptr, nullptr, network});

// Down 0.5-3 s, up 5-30 s (METAROCE injection model). memory[0]: until when, memory[1]: 1 while down.
void flap(State& s, Active& a) {
  if (a.age >= a.memory[0]) {
    bool up = a.memory[1] > 0;
    a.memory[1] = up ? 0 : 1;
    double low = s.parameters->get(up ? "link_flap.up_low_s" : "link_flap.down_low_s"),
           high = s.parameters->get(up ? "link_flap.up_high_s" : "link_flap.down_high_s");
    a.memory[2] = a.age;
    a.memory[0] = a.age + a.random.uniform(low, high) * (up ? 1 / a.magnitude : a.magnitude);
  }
  if (a.memory[1] > 0) s.links[a.target.link.v].state = fabric::LinkState::kDown;
  // One flap is everyday life (Alibaba HPN); the second makes it a flapping link.
  if (a.memory[1] > 0 && a.memory[2] > 0) a.showing = true;
  const fabric::Link& link = s.built.link(a.target.link);
  if (a.age - a.memory[2] < 3)
    for (fabric::PortId q : {link.a, link.b}) s.ports[q.v].knobs.ber = 3;  // at the edges only
}
WEFT_REGISTER(
    faults(),
    {"link_flap", "link goes down and up again and again", Sits::kLink, Shows::kAtOnce, {"work_order"}, flap, nullptr, nullptr, network});

// Rate field shows it; errors stay clean; pause towards the sender may rise.
void half(State& s, Active& a) {
  LinkKnobs& k = s.links[a.target.link.v];
  k.rate = k.negotiated = 0.5;
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"link_half_rate", "link negotiates half its rate", Sits::kLink, Shows::kHost, {"work_order"}, half, nullptr, nullptr, network});

}  // namespace
}  // namespace weft::twin
