// The twin as an Actuator: checks what is asked, lets it take its time, lets some fail, changes the machine, keeps the log of effects.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "telemetry/names.h"
#include "twin/probes.h"
#include "twin/world_impl.h"

namespace weft::twin {

using control::ActionState;
using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::LinkId;
using telemetry::Severity;
namespace action = heal::action;
namespace event = telemetry::event;

namespace {

std::string text_of(const Json& j, const char* key) {
  return j.is_object() && j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : std::string();
}
bool flag_of(const Json& j, const char* key) { return j.is_object() && j.contains(key) && j[key].is_boolean() && j[key].get<bool>(); }
double number_of(const Json& j, const char* key, double otherwise) {
  return j.is_object() && j.contains(key) && j[key].is_number() ? j[key].get<double>() : otherwise;
}

}  // namespace

Status World::Impl::start(const heal::Action& a) {
  if (a.id.empty()) return fail(ErrorKind::kInvalid, "an action needs an id");
  if (runs.contains(a.id)) return {};  // the same id again: no second effect
  Random draw = random.fork("action/" + a.id);
  // The scheduler or agent cannot be reached now and then; nothing was heard, the caller may try again.
  if (draw.chance(options.actuator_failure / 3) && !runs.contains(a.id + " refused")) {
    runs[a.id + " refused"].status = {};
    return fail(ErrorKind::kUnavailable, "the agent did not answer; try again", a.target);
  }
  WEFT_ASSIGN(Duration takes, plan(a));
  double factor = options.actuator_delay_factor;
  if (draw.chance(options.actuator_failure > 0 ? parameters.get("action.late_chance") : 0) && a.kind != action::kWorkOrder)
    factor *= draw.uniform(2, 4);
  Run run;
  run.action = a;
  run.status.state = ActionState::kRunning;
  run.status.message = "under way";
  run.due = state.now + seconds(to_seconds(takes) * factor * draw.uniform(0.8, 1.2));
  run.fails = draw.chance(options.actuator_failure);
  if (a.kind == action::kJobStop && flag_of(a.parameters, "checkpoint"))
    if (JobRun* job = jobs.find(a.target); job && jobs.can_save(*job) && !run.fails) jobs.save(*job, true);
  if (a.kind == action::kJobCheckpoint)
    if (JobRun* job = jobs.find(a.target)) jobs.save(*job);
  if (a.kind == action::kNodeReboot && !run.fails) {
    int n = state.node_of(*state.built.find_device(a.target));
    rebooting[n] = run.due;
    state.log(state.built.name(state.nodes[static_cast<std::size_t>(n)].id), event::kNodeReboot, "", Severity::kInfo, "reboot requested");
  }
  pending.push_back(a.id);
  runs[a.id] = std::move(run);
  return {};
}

Result<Duration> World::Impl::plan(const heal::Action& a) {
  Random draw = random.fork("duration/" + a.id);
  const Json& p = a.parameters.get();
  auto device = [&]() -> Result<DeviceId> { return state.built.find_device(a.target); };
  if (a.kind == action::kJobStart || a.kind == action::kJobStop || a.kind == action::kJobCheckpoint) {
    JobRun* job = jobs.find(a.target);
    if (!job) return fail(ErrorKind::kNotFound, "the scheduler knows no job '" + a.target + "'", a.target);
    if (a.kind == action::kJobStart) {
      if (!p.contains("cards") || !p["cards"].is_array())
        return fail(ErrorKind::kInvalid, "job_start needs {\"cards\": [names by rank]}", a.target);
      for (const Json& c : p["cards"]) {
        if (!c.is_string()) return fail(ErrorKind::kInvalid, "cards are given by name", a.target);
        WEFT_TRY(state.built.find_device(c.get<std::string>()));
      }
      return seconds(2);
    }
    if (a.kind == action::kJobCheckpoint) {
      if (!jobs.can_save(*job))
        return fail(ErrorKind::kConflict, fmt::format("{} cannot save: it is {}", job->entity, phase_name(job->phase)), a.target);
      return seconds(job->step_seconds + 6);
    }
    // Saving first means waiting for the end of the step and for the write; a hung job is killed at once.
    return seconds(flag_of(p, "checkpoint") && jobs.can_save(*job) ? job->left + 8 + draw.uniform(1, 3) : draw.uniform(1.5, 4));
  }
  if (a.kind == action::kLinkIsolate || a.kind == action::kLinkRestore || a.kind == action::kSpareLinkIn ||
      a.kind == action::kSpareLinkOut || a.kind == action::kProbeLink) {
    WEFT_TRY(state.built.find_link(a.target));
    return seconds(a.kind == action::kProbeLink ? kProbeLinkSeconds : draw.uniform(1, 3));
  }
  if (a.kind == action::kWorkOrder) {
    if (!state.built.find_device(a.target) && !state.built.find_link(a.target) && !jobs.find(a.target))
      return fail(ErrorKind::kNotFound, "no such part: " + a.target, a.target);
    double takes = draw.uniform(parameters.get("action.work_order_low_h"), parameters.get("action.work_order_high_h")) * 3600;
    double deadline = number_of(p, "deadline_s", 4 * 3600);
    return seconds(std::min(takes, 0.8 * deadline));
  }
  if (a.kind == action::kConfigApply) {
    if (text_of(p, "key").empty()) return fail(ErrorKind::kInvalid, "config_apply needs {\"key\": …, \"value\": …}", a.target);
    if (!device() && !state.built.find_port(a.target) && !jobs.find(a.target))
      return fail(ErrorKind::kNotFound, "no such part: " + a.target, a.target);
    return seconds(draw.uniform(3, 8));
  }
  if (a.kind == action::kProbeCollective) {
    if (!p.contains("cards") || !p["cards"].is_array() || p["cards"].size() < 2)
      return fail(ErrorKind::kInvalid, "probe_collective needs at least two cards", a.target);
    return seconds(kProbeCollectiveSeconds);
  }
  if (a.kind == action::kProbeStorage) return seconds(kProbeStorageSeconds);
  WEFT_ASSIGN(DeviceId d, device());
  DeviceKind kind = state.built.device(d).kind;
  if (a.kind == action::kCordon || a.kind == action::kUncordon) return seconds(draw.uniform(0.3, 1));
  if (a.kind == action::kCardReset) {
    if (kind != DeviceKind::kCard) return fail(ErrorKind::kInvalid, a.target + " is not a card", a.target);
    return seconds(draw.uniform(15, 30));
  }
  if (a.kind == action::kNodeReboot || a.kind == action::kServiceRestart) {
    if (state.node_of(d) < 0) return fail(ErrorKind::kInvalid, a.target + " is not a node nor in one", a.target);
    return seconds(a.kind == action::kNodeReboot ? draw.uniform(150, 240) : draw.uniform(8, 20));
  }
  if (a.kind == action::kProbeCard) {
    if (kind != DeviceKind::kCard) return fail(ErrorKind::kInvalid, a.target + " is not a card", a.target);
    return seconds(kProbeCardSeconds);
  }
  if (a.kind == action::kProbeNode) return seconds(kProbeNodeSeconds);
  return fail(ErrorKind::kInvalid, "the twin knows no action '" + a.kind + "'", a.target);
}

void World::Impl::finish(Run& run) {
  const heal::Action& a = run.action;
  std::string why;
  if (run.fails) {
    why = "the agent reports that it did not work";
  } else if (Status done = perform(a); !done) {
    why = done.error().text();
  }
  run.status.state = why.empty() ? ActionState::kDone : ActionState::kFailed;
  run.status.message = why.empty() ? "done" : why;
  if (why.empty() && is_probe(a.kind)) {
    Json result = measure(a);
    state.log(a.target, event::kActionResult, a.id, Severity::kInfo, dump_json(result, -1));
    run.status.result = std::move(result);
  }
  Effect effect{state.now, a.id, a.kind, a.target, why.empty()};
  effects.push_back(effect);
  if (listener) listener(effect);
}

void World::Impl::kill_jobs_on(const std::function<bool(const Card&)>& which, std::string why) {
  for (JobRun& job : jobs.all()) {
    if (!job.active() && job.phase != JobPhase::kStarting) continue;
    for (int c : job.cards)
      if (which(state.cards[static_cast<std::size_t>(c)])) {
        job.phase = JobPhase::kDead, job.profile.reset();
        state.log(job.entity, event::kStepAborted, std::to_string(job.step), Severity::kFatal,
                  fmt::format("step {} aborted: {}", job.step, why));
        break;
      }
  }
}

Status World::Impl::perform(const heal::Action& a) {
  const Json& p = a.parameters.get();
  DeviceId device;
  LinkId link;
  int job_index = -1;
  if (JobRun* job = jobs.find(a.target)) job_index = static_cast<int>(job - jobs.all().data());
  else if (auto d = state.built.find_device(a.target)) device = *d;
  if (job_index < 0 && !device.ok())
    if (auto l = state.built.find_link(a.target)) link = *l;
  if (a.kind.starts_with("link_") || a.kind.starts_with("spare_link") || a.kind == action::kProbeLink) {
    WEFT_ASSIGN(link, state.built.find_link(a.target));
  }
  if (a.kind == action::kJobStart) {
    std::vector<DeviceId> cards;
    for (const Json& c : p["cards"]) cards.push_back(*state.built.find_device(c.get<std::string>()));
    return jobs.start(jobs.all()[static_cast<std::size_t>(job_index)], cards, flag_of(p, "resume"), real);
  }
  if (a.kind == action::kJobStop) return jobs.stop(jobs.all()[static_cast<std::size_t>(job_index)]), Status{};
  if (a.kind == action::kLinkIsolate || a.kind == action::kSpareLinkOut) return state.in_service[link.v] = false, Status{};
  if (a.kind == action::kLinkRestore || a.kind == action::kSpareLinkIn) {
    state.in_service[link.v] = true;
    cure_by(a.kind, {}, link, -1, "");
    return {};
  }
  if (a.kind == action::kCordon) {
    std::string owner = text_of(p, "owner"), reason = text_of(p, "reason");
    if (owner.empty()) owner = "weft";
    if (auto at = cordons.find(device); at != cordons.end() && at->second.owner != owner)
      return fail(ErrorKind::kDenied, fmt::format("already cordoned by {}", at->second.owner), a.target);
    if (cordons.contains(device)) return {};
    Hold& hold = cordons[device] = {owner, reason, {}};
    if (state.built.device(device).kind == DeviceKind::kSwitch)
      for (fabric::PortId q : state.built.ports_of(device))
        if (LinkId l = state.built.port(q).link; l.ok() && state.in_service[l.v]) state.in_service[l.v] = false, hold.links.push_back(l);
    return {};
  }
  if (a.kind == action::kUncordon) {
    std::string owner = text_of(p, "owner");
    if (owner.empty()) owner = "weft";
    auto at = cordons.find(device);
    if (at == cordons.end()) return {};
    if (at->second.owner != owner)
      return fail(ErrorKind::kDenied, fmt::format("cordoned by {}, not by {}", at->second.owner, owner), a.target);
    for (LinkId l : at->second.links) state.in_service[l.v] = true;
    cordons.erase(at);
    return {};
  }
  if (a.kind == action::kCardReset) {
    Card& c = state.cards[static_cast<std::size_t>(state.card_of(device))];
    if (c.knobs.gone) return fail(ErrorKind::kUnavailable, "the device is not on the bus: no in-band reset", a.target);
    kill_jobs_on([&](const Card& other) { return other.id == device; }, "a card was reset");
    c.sbe = c.dbe = c.crc = c.nvl_replay = 0, c.remap_pending = 0, c.fb_used = 0;  // volatile counters start anew; the Xid gauge does not
    cure_by(a.kind, device, {}, -1, "");
    return {};
  }
  if (a.kind == action::kNodeReboot) {
    kill_jobs_on([&](const Card& c) { return c.node == state.node_of(device); }, "a node was rebooted");
    state.log(state.built.name(state.nodes[static_cast<std::size_t>(state.node_of(device))].id), event::kNodeReboot, "", Severity::kInfo,
              "system is up");
    cure_by(a.kind, state.nodes[static_cast<std::size_t>(state.node_of(device))].id, {}, -1, "");
    return {};
  }
  if (a.kind == action::kServiceRestart) return cure_by(a.kind, device, {}, -1, text_of(p, "service")), Status{};
  if (a.kind == action::kWorkOrder) {
    cure_by(a.kind, device, link, job_index, "");
    // People leave a part in order: what resets clear, they clear.
    for (Card& c : state.cards)
      for (DeviceId d = c.id; d.ok() && device.ok(); d = state.built.device(d).parent)
        if (d == device) c.remap_pending = 0, c.dbe = 0, c.xid = 0;
    return {};
  }
  if (a.kind == action::kConfigApply) {
    std::string key = text_of(p, "key"), value = p.contains("value") && p["value"].is_string() ? text_of(p, "value")
                                                 : p.contains("value")                         ? p["value"].dump()
                                                                                               : "";
    if (value.empty() || value == "baseline") value = state.baseline(a.target, key);  // what the fleet has
    if (!state.fact(a.target, key).empty() && !value.empty()) state.set_fact(a.target, key, value);
    state.log(a.target, event::kConfigChanged, key, Severity::kInfo, fmt::format("{} set to '{}'", key, value));
    DeviceId owner = device;
    if (!owner.ok())
      if (auto q = state.built.find_port(a.target)) owner = state.built.port(*q).device;
    cure_by(a.kind, owner, {}, job_index, key);
    return {};
  }
  return {};  // checkpoint was begun at start; probes measure afterwards
}

// Ends the faults that this kind of action ends, on the part itself or what lies in it. Work on a device reaches its ports' links.
void World::Impl::cure_by(std::string_view kind, DeviceId device, LinkId link, int job, std::string_view key) {
  for (Active& f : faults) {
    if (f.cured || !f.begun) continue;
    if (std::find(f.entry->cures.begin(), f.entry->cures.end(), kind) == f.entry->cures.end()) continue;
    // Setting one thing right does not heal another: what is a fact heals through the fact.
    if (kind == action::kConfigApply && !state.fact(f.target.name, key).empty()) continue;
    bool hit = false;
    if (f.target.job >= 0) hit = job == f.target.job;
    if (f.target.link.ok()) {
      hit = f.target.link == link;
      if (device.ok())
        for (fabric::PortId q : {state.built.link(f.target.link).a, state.built.link(f.target.link).b})
          hit = hit || state.built.port(q).device == device;
    }
    if (f.target.device.ok()) {
      for (DeviceId d = f.target.device; d.ok() && device.ok(); d = state.built.device(d).parent) hit = hit || d == device;
      if (link.ok())  // a work order on the cable of a NIC or switch port reaches the NIC
        for (fabric::PortId q : {state.built.link(link).a, state.built.link(link).b})
          hit = hit || state.built.port(q).device == f.target.device;
    }
    if (hit) cure(f);
  }
}

}  // namespace weft::twin
