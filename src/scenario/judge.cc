#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "scenario/run.h"

namespace weft::scenario {
namespace {

// Two names for one part: the same text, the same device, or ends of the same link.
bool same_part(const fabric::Snapshot& s, const std::string& x, const std::string& y) {
  if (x == y) return true;
  auto a = s.find_link(x), b = s.find_link(y);
  if (a && b && *a == *b) return true;
  auto c = s.find_device(x), d = s.find_device(y);
  return c && d && *c == *d;
}

// `inner` is `outer` or lies inside it, or is a link at it.
bool within(const fabric::Snapshot& s, const std::string& inner, const std::string& outer) {
  if (same_part(s, inner, outer)) return true;
  auto out = s.find_device(outer);
  if (!out) return false;
  auto inside = [&](fabric::DeviceId d) {
    for (; d.ok(); d = s.device(d).parent)
      if (d == *out) return true;
    return false;
  };
  if (auto d = s.find_device(inner)) return inside(*d);
  if (auto l = s.find_link(inner)) return inside(s.port(s.link(*l).a).device) || inside(s.port(s.link(*l).b).device);
  return false;
}

std::string expected_outcome(const Expectation* e, const diagnose::FaultClass* c) {
  if (e && !e->outcome.empty()) return e->outcome;
  if (!c) return "recovered";
  if (c->id == "optic_ageing" || c->id == "ecc_storm") return "watched";
  return c->remedy == "report" || c->remedy == "cooling" || c->remedy == "power" ? "reported" : "recovered";
}

// Link 30 s, everything that moves work 10 min. A link that is a card's only one cannot be re-routed: its work moves.
Duration expected_limit(const Expectation* e, const diagnose::FaultClass* c, const control::Incident& incident) {
  if (e && e->recover_within > seconds(0)) return e->recover_within;
  bool moved = std::any_of(incident.plans.begin(), incident.plans.end(), [](const heal::ActionPlan& p) {
    return std::any_of(p.actions.begin(), p.actions.end(), [](const heal::Action& a) { return a.kind == heal::action::kJobStart; });
  });
  return c && c->remedy == "link" && !moved ? seconds(30) : minutes(10);
}

// Jobs that a plan of the incident had to bring back.
bool proved(const control::Incident& incident, const std::string& job) {
  return std::any_of(incident.plans.begin(), incident.plans.end(), [&](const heal::ActionPlan& p) {
    return std::find(p.proves.begin(), p.proves.end(), "job/" + job) != p.proves.end();
  });
}

// Why the loop could not go on by itself: a safety limit, or no cards left for the work. "" when neither.
std::string stopped_by(const control::Incident& incident, const std::vector<JobEnd>& jobs) {
  if (incident.plans.empty()) return {};
  const heal::ActionPlan& last = incident.plans.back();
  if (last.reason.starts_with("declined: ")) {
    std::size_t hand = last.report.find("Operator: ");
    return "limit reached: " + last.reason.substr(10) + (hand == std::string::npos ? "" : "; " + last.report.substr(hand));
  }
  for (const JobEnd& j : jobs)
    if (!j.health.running && !j.health.why.empty() && proved(incident, j.health.name))
      return "no cards left: job/" + j.health.name + " is stopped: " + j.health.why;
  return {};
}

bool isolates(const std::string& kind) { return kind == heal::action::kCordon || kind == heal::action::kLinkIsolate; }

}  // namespace

std::vector<Row> judge(const Scenario& scenario, std::uint64_t seed, const fabric::Snapshot& snapshot,
                       const std::vector<control::Incident>& incidents, const std::vector<twin::Truth>& truths,
                       const std::vector<twin::Effect>& effects, const std::vector<JobEnd>& jobs, Instant now) {
  std::vector<Row> rows;
  std::vector<const Expectation*> expectation(truths.size(), nullptr);
  std::set<const Expectation*> used;
  for (std::size_t t = 0; t < truths.size(); ++t)
    for (const Expectation& e : scenario.expect)
      if (!used.contains(&e) && e.fault == truths[t].fault) {
        expectation[t] = &e, used.insert(&e);
        break;
      }

  // Innocent: isolated although no truth lies on it, in it or around it.
  std::vector<std::string> innocents;
  for (const twin::Effect& effect : effects) {
    if (!effect.succeeded || !isolates(effect.kind)) continue;
    bool guilty = std::any_of(truths.begin(), truths.end(), [&](const twin::Truth& t) {
      return diagnose::find_fault_class(t.fault) &&
             (within(snapshot, t.entity, effect.target) || within(snapshot, effect.target, t.entity));
    });
    if (!guilty) innocents.push_back(effect.target);
  }

  std::size_t real = 0;
  for (std::size_t t = 0; t < truths.size(); ++t) {
    const twin::Truth& truth = truths[t];
    const diagnose::FaultClass* c = diagnose::find_fault_class(truth.fault);
    if (!c) continue;  // a decoy: judged through innocents and stray incidents
    ++real;
    Row row;
    row.name = scenario.name;
    row.seed = seed;
    row.truth = truth.fault + " " + truth.entity;
    const control::Incident* found = nullptr;
    bool found_alike = false;
    for (const control::Incident& i : incidents) {
      if (i.detected < truth.from) continue;
      for (std::size_t rank = 0; rank < i.diagnosis.causes.size(); ++rank) {
        const diagnose::Cause& cause = i.diagnosis.causes[rank];
        if (cause.fault != truth.fault || !same_part(snapshot, cause.entity, truth.entity)) continue;
        int r = static_cast<int>(rank) + 1;
        if (!row.cause_rank || r < row.cause_rank) row.cause_rank = r, found = &i;
      }
    }
    if (!found)  // the right incident may name the wrong class: show it
      for (const control::Incident& i : incidents)
        if (i.detected >= truth.from && !i.diagnosis.causes.empty() &&
            (!found || same_part(snapshot, i.diagnosis.causes[0].entity, truth.entity)))
          found = &i;
    if (found && !found->diagnosis.causes.empty()) {
      const diagnose::Cause& first = found->diagnosis.causes[0];
      row.found = first.fault + " " + first.entity;
      if (expectation[t]) {
        const auto& alike = expectation[t]->look_alikes;
        found_alike = std::find(alike.begin(), alike.end(), first.fault) != alike.end();
      }
    }
    Instant zero = truth.visible.ns() ? truth.visible : truth.from;
    auto after = [&](Instant at) { return at.ns() ? std::max(0.0, to_seconds(at - zero)) : -1.0; };
    if (found) row.detect_s = after(found->detected), row.locate_s = after(found->located), row.recover_s = after(found->recovered);

    std::string outcome = expected_outcome(expectation[t], c);
    auto failed = [&](std::string why) {
      if (row.verdict != "fail") row.verdict = "fail", row.why = std::move(why);
    };
    row.verdict = "pass";
    if (!truth.visible.ns()) failed("the fault never showed in any exported sample");
    else if (!found) failed("not detected");
    else if (row.cause_rank != 1) {
      bool legal = found->diagnosis.undecided && found_alike && row.cause_rank >= 1 && row.cause_rank <= 3 &&
                   !found->diagnosis.causes[0].settling_test.empty();
      if (legal) row.verdict = "undecided", row.why = "settle by: " + found->diagnosis.causes[0].settling_test;
      else failed(row.cause_rank ? fmt::format("ranked {}", row.cause_rank) : "not among the causes");
    }
    if (found && row.cause_rank == 1) {
      const diagnose::Cause& cause = found->diagnosis.causes[0];
      for (const std::string& group : truth.groups) {
        bool named = std::any_of(cause.impact.begin(), cause.impact.end(), [&](const diagnose::Impact& i) {
          return std::any_of(i.groups.begin(), i.groups.end(), [&](const std::string& g) {
            return "job/" + i.job.substr(i.job.rfind('/') + 1) + ":" + g == group || i.job + ":" + g == group;
          });
        });
        if (!named) {
          failed("group not named: " + group);
          break;
        }
      }
    }
    // A limit that stops the healing is a safety outcome: neither healed nor wrong, and a person has to act.
    if (found && outcome == "recovered" && row.verdict == "pass" && row.recover_s < 0) {
      if (std::string limit = stopped_by(*found, jobs); !limit.empty()) row.verdict = "undecided", row.why = limit;
    }
    if (found && outcome == "recovered" && found->recovered.ns())
      for (const JobEnd& j : jobs)
        if (proved(*found, j.health.name) && j.health.running && j.stepped < found->recovered &&
            now - found->recovered > control::silent_limit(j.health.usual_step))
          failed("job/" + j.health.name + " makes no step after the recovery");
    if (found && outcome == "recovered" && row.verdict != "undecided") {
      if (row.recover_s < 0) failed("not recovered");
      else if (row.recover_s > to_seconds(expected_limit(expectation[t], c, *found)))
        failed(
            fmt::format("recovered after {:.0f} s, limit {:.0f} s", row.recover_s, to_seconds(expected_limit(expectation[t], c, *found))));
    }
    // A setting that is said to be right again must be: no part was taken out of the way, so nothing else can have helped.
    if (found && outcome == "recovered" && c->remedy == "config" && row.recover_s >= 0 && !truth.cured)
      failed("said to be recovered, but the fault is still there");
    if (found && outcome == "reported") {
      bool reported = found->state == control::IncidentState::kReported || found->state == control::IncidentState::kClosed ||
                      found->recovered.ns() ||
                      std::any_of(found->plans.begin(), found->plans.end(), [](const heal::ActionPlan& p) { return !p.report.empty(); });
      if (!reported) failed("no report to the operator");
    }
    if (!innocents.empty()) failed("isolated an innocent part: " + innocents.front());
    rows.push_back(std::move(row));
  }

  if (real > 1)
    for (Row& row : rows) row.name += "/" + row.truth.substr(0, row.truth.find(' '));
  if (real == 0) {
    Row row;
    row.name = scenario.name;
    row.seed = seed;
    row.verdict = "pass";
    row.truth = "-";
    auto loud = std::find_if(incidents.begin(), incidents.end(),
                             [](const control::Incident& i) { return i.severity > telemetry::Severity::kInfo; });
    if (!innocents.empty()) row.verdict = "fail", row.why = "isolated an innocent part: " + innocents.front();
    else if (loud != incidents.end()) {
      row.verdict = "fail";
      const auto& causes = loud->diagnosis.causes;
      row.found = causes.empty() ? "unknown" : causes[0].fault + " " + causes[0].entity;
      row.why = fmt::format("an incident although nothing was wrong: {} {}", loud->id, row.found);
    }
    rows.push_back(std::move(row));
  }

  // Every job makes steps, or somebody has said why not.
  for (const JobEnd& j : jobs) {
    Row row;
    row.name = scenario.name + "/job/" + j.health.name;
    row.seed = seed;
    row.truth = "-";
    const std::string job = "job/" + j.health.name;
    Instant last = std::max(j.stepped, j.health.last_step);
    if (!j.health.placed)
      row.verdict = "fail", row.why = job + " never ran: " + (j.health.why.empty() ? "it was not placed" : j.health.why);
    else if (!j.health.running && !j.health.why.empty())
      row.verdict = "undecided", row.why = job + " is stopped and reported: " + j.health.why;
    else if (now - std::max(last, twin::WorldOptions{}.start) > control::silent_limit(j.health.usual_step))
      row.verdict = "fail", row.why = last.ns() ? fmt::format("{} makes no step for {:.0f} s ({})", job, to_seconds(now - last), j.phase)
                                                : job + " never made a step";
    else continue;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json to_json(const Row& row) {
  return {{"name", row.name},         {"seed", row.seed},           {"cause_rank", row.cause_rank}, {"detect_s", row.detect_s},
          {"locate_s", row.locate_s}, {"recover_s", row.recover_s}, {"verdict", row.verdict},       {"why", row.why},
          {"truth", row.truth},       {"found", row.found}};
}

}  // namespace weft::scenario
