#include "diagnose/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace weft::diagnose {
namespace {

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }
std::string_view severity_name(telemetry::Severity s) {
  switch (s) {
    case telemetry::Severity::kInfo: return "info";
    case telemetry::Severity::kWarning: return "warning";
    case telemetry::Severity::kError: return "error";
    case telemetry::Severity::kFatal: return "fatal";
  }
  return "info";
}
std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

}  // namespace

std::string_view tail_name(Tail tail) {
  switch (tail) {
    case Tail::kNone: return "none";
    case Tail::kMean: return "mean";
    case Tail::kTail: return "tail";
    case Tail::kStop: return "stop";
  }
  return "none";
}

Json to_json(const Finding& f) {
  Json evidence = Json::array();
  for (const Evidence& e : f.evidence)
    evidence.push_back({{"metric", e.metric},
                        {"entity", e.entity},
                        {"value", number(e.value)},
                        {"baseline", number(e.baseline)},
                        {"text", e.text},
                        {"from", iso8601(e.from)},
                        {"to", iso8601(e.to)}});
  return {{"sign", f.sign},
          {"entity", f.entity},
          {"layer", std::string(layer_name(f.layer))},
          {"since", iso8601(f.since)},
          {"last", iso8601(f.last)},
          {"strength", number(f.strength)},
          {"evidence", evidence}};
}

Json to_json(const Cause& c) {
  Json impact = Json::array();
  for (const Impact& i : c.impact)
    impact.push_back({{"job", i.job},
                      {"groups", i.groups},
                      {"primitive", i.primitive},
                      {"tail", std::string(tail_name(i.tail))},
                      {"slowdown", number(i.slowdown)}});
  return {{"fault", c.fault},
          {"entity", c.entity},
          {"layer", std::string(layer_name(c.layer))},
          {"confidence", number(c.confidence)},
          {"since", iso8601(c.since)},
          {"explained", c.explained},
          {"contradicted", c.contradicted},
          {"impact", impact},
          {"settling_test", c.settling_test}};
}

Json to_json(const Diagnosis& d) {
  Json causes = Json::array(), findings = Json::array();
  for (const Cause& c : d.causes) causes.push_back(to_json(c));
  for (const Finding& f : d.findings) findings.push_back(to_json(f));
  return {{"key", d.key},         {"at", iso8601(d.at)}, {"since", iso8601(d.since)}, {"severity", std::string(severity_name(d.severity))},
          {"settled", d.settled}, {"over", d.over},      {"undecided", d.undecided},  {"unknown", number(d.unknown)},
          {"causes", causes},     {"findings", findings}};
}

Report to_report(std::span<const Diagnosis> diagnoses, const std::string& title) {
  Report report;
  report.title = title;
  if (diagnoses.empty())
    report.sections.push_back(
        {.heading = "Nothing wrong", .paragraphs = {"No symptom that needs a cause."}, .facts = {}, .tables = {}, .charts = {}});
  for (const Diagnosis& d : diagnoses) {
    Section s;
    const Cause* first = d.causes.empty() ? nullptr : &d.causes[0];
    const FaultClass* kind = first ? find_fault_class(first->fault) : nullptr;
    s.heading = !first ? d.key + ": cause unknown"
                : d.undecided && d.causes.size() > 1
                    ? fmt::format("{}: undecided between {} and {}", d.key, first->fault, d.causes[1].fault)
                    : fmt::format("{}: {}, {}", d.key, first->entity, kind ? kind->title : first->fault);
    s.facts.push_back({"since", iso8601(d.since)});
    s.facts.push_back({"state", d.over ? "over" : d.settled ? "open" : "open, still gathering symptoms"});
    s.facts.push_back({"severity", std::string(severity_name(d.severity))});
    if (first) {
      s.facts.push_back({"layer", std::string(layer_name(first->layer))});
      for (const Impact& i : first->impact) {
        std::string text = joined(i.groups);
        if (!i.primitive.empty()) text += ", " + i.primitive;
        if (i.tail == Tail::kStop) text += ", the job stops";
        else if (i.slowdown > 0) text += fmt::format(", step {:+.1f} %", 100 * i.slowdown);
        else if (i.tail == Tail::kTail) text += ", only the tail suffers";
        else if (i.tail == Tail::kNone) text += ", no slowdown seen";
        s.facts.push_back({"job " + i.job, text});
      }
      s.facts.push_back({"settled by", first->settling_test});
    }
    Table causes{
        "Causes",
        {{"cause", Align::kLeft, ""}, {"part", Align::kLeft, ""}, {"confidence", Align::kRight, ""}, {"speaks against", Align::kLeft, ""}},
        {}};
    for (const Cause& c : d.causes) causes.rows.push_back({c.fault, c.entity, percent(c.confidence), joined(c.contradicted)});
    causes.rows.push_back({"unknown", "", percent(d.unknown), ""});
    s.tables.push_back(std::move(causes));
    Table evidence{"Evidence, bottom up",
                   {{"layer", Align::kLeft, ""},
                    {"since", Align::kLeft, ""},
                    {"symptom", Align::kLeft, ""},
                    {"part", Align::kLeft, ""},
                    {"what was seen", Align::kLeft, ""}},
                   {}};
    for (Layer layer : {Layer::kWater, Layer::kPower, Layer::kNetwork, Layer::kCard, Layer::kHost, Layer::kSoftware, Layer::kStorage,
                        Layer::kPlacement, Layer::kJob})
      for (const Finding& f : d.findings)
        if (f.layer == layer)
          evidence.rows.push_back(
              {std::string(layer_name(layer)), iso8601(f.since), f.sign, f.entity, f.evidence.empty() ? "" : f.evidence[0].text});
    s.tables.push_back(std::move(evidence));
    report.sections.push_back(std::move(s));
  }
  return report;
}

}  // namespace weft::diagnose
