// A Diagnosis for people and programs: evidence, ranked causes, impact, the test that would settle it.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "base/report.h"
#include "diagnose/types.h"

namespace weft::diagnose {

std::string_view tail_name(Tail tail);  // "none", "mean", "tail", "stop"
Json to_json(const Finding& finding);
Json to_json(const Cause& cause);
Json to_json(const Diagnosis& diagnosis);
Report to_report(std::span<const Diagnosis> diagnoses, const std::string& title);

}  // namespace weft::diagnose
