// What the training framework does with the card: a few declared profiles, one per framework generation (data/plan/software.yaml). A
// share "hidden" is the part of a communication that may run beside computation, as far as there is computation to run beside.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace weft::plan {

struct Software {
  std::string name, about, source;
  double matmul = 1, attention = 1;  // share of the card's efficiency that this generation's kernels reach
  double traffic = 1;                // memory traffic relative to the account (fusion lowers it)
  double kernels = 1;                // cost of starting kernels (graphs lower it)
  double tp_hidden = 0, cp_hidden = 0, ep_hidden = 0, pp_hidden = 0, dp_hidden = 0, gather_hidden = 0, zero3_hidden = 0;
  double contention = 0;      // seconds of computation lost per second of hidden communication
  double network = 1;         // share of the machine's network rate
  double per_step = 0;        // seconds: data loading, logging, synchronisation
  double gradient_bytes = 4;  // a gradient element on the wire
  double scatter = 0;         // 1: tensor ranks send a stage boundary in parts and gather it there; 0: each sends all of it
  bool flash = true;
  double memory_base = 3e9;     // bytes: context, libraries, communication buffers
  double fragmentation = 0.02;  // of the activations
};
Result<Software> software(const std::string& name);
std::map<std::string, Software> all_software();
constexpr const char* kDefaultSoftware = "mcore-2024";

// The knobs `calibrate` may turn, by name; nullptr for unknown.
double* knob(Software& software, const std::string& name);

}  // namespace weft::plan
