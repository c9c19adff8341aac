#include "serve/feed.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <map>

#include "fabric/routes.h"
#include "telemetry/names.h"

namespace weft::serve {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::Snapshot;
namespace metric = telemetry::metric;

struct Ring {
  std::vector<std::pair<std::int64_t, float>> points;  // ms since the epoch
  std::size_t next = 0;
  void push(std::size_t limit, Instant at, double v) {
    std::pair<std::int64_t, float> p{at.ns() / 1'000'000, static_cast<float>(v)};
    if (points.size() < limit) points.push_back(p);
    else points[next] = p, next = (next + 1) % limit;
  }
  template <class Each>
  void each(Each f) const {
    for (std::size_t i = 0; i < points.size(); ++i) f(points[(next + i) % points.size()]);
  }
  const std::pair<std::int64_t, float>* last() const {
    return points.empty() ? nullptr : &points[(next + points.size() - 1) % points.size()];
  }
};

Json instant(Instant t) { return t.ns() ? Json(t.ns() / 1'000'000) : Json(nullptr); }

Json site_document(const Snapshot& s) {
  Json nodes = Json::array(), switches = Json::array(), links = Json::array(), others = Json::array();
  for (DeviceId n : s.of_kind(DeviceKind::kNode)) {
    Json cards = Json::array(), nics = Json::array();
    for (DeviceId c : s.children(n)) {
      if (s.device(c).kind == DeviceKind::kCard) cards.push_back(s.name(c));
      if (s.device(c).kind == DeviceKind::kNic) nics.push_back(s.name(c));
    }
    std::string rack;
    if (DeviceId r = s.container(n, DeviceKind::kRack); r.ok()) rack = s.name(r);
    else
      for (fabric::DomainId d : s.domains_of(n))
        if (s.domain(d).kind == fabric::DomainKind::kRack) rack = s.domain(d).name;
    DeviceId sn = s.container(n, DeviceKind::kSupernode);
    nodes.push_back({{"name", s.name(n)}, {"supernode", sn.ok() ? s.name(sn) : ""}, {"rack", rack}, {"cards", cards}, {"nics", nics}});
  }
  for (DeviceId d : s.of_kind(DeviceKind::kSwitch)) {
    fabric::NetworkSet networks = 0;
    for (fabric::PortId p : s.ports_of(d)) networks |= s.port(p).networks;
    Json roles = Json::array();
    for (unsigned n = 0; n < 5; ++n)
      if (networks >> n & 1) roles.push_back(fabric::network_name(static_cast<fabric::Network>(n)));
    switches.push_back({{"name", s.name(d)}, {"tier", s.device(d).tier}, {"plane", s.device(d).plane}, {"networks", roles}});
  }
  for (DeviceKind k : {DeviceKind::kRack, DeviceKind::kCdu, DeviceKind::kStorage})
    for (DeviceId d : s.of_kind(k)) others.push_back({{"name", s.name(d)}, {"kind", fabric::kind_name(k)}});
  for (std::uint32_t l = 0; l < s.link_count() && l < 50'000; ++l) {
    const fabric::Link& link = s.link(fabric::LinkId{l});
    if (link.networks == fabric::bit(fabric::Network::kHost)) continue;
    links.push_back({{"id", l},
                     {"name", s.name(fabric::LinkId{l})},
                     {"a", s.name(link.a)},
                     {"b", s.name(link.b)},
                     {"gbps", link.rate.value() / 1e9},
                     {"medium", fabric::medium_name(link.medium)},
                     {"networks", link.networks},
                     {"spare", link.spare}});
  }
  return {{"site", s.site_name()}, {"nodes", nodes}, {"switches", switches}, {"others", others}, {"links", links}};
}

Json cause_document(const diagnose::Cause& c) {
  Json impact = Json::array();
  constexpr const char* kTail[] = {"none", "mean", "tail", "stop"};
  for (const auto& i : c.impact)
    impact.push_back({{"job", i.job},
                      {"groups", i.groups},
                      {"primitive", i.primitive},
                      {"tail", kTail[static_cast<int>(i.tail)]},
                      {"slowdown", i.slowdown}});
  const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
  return {{"fault", c.fault},
          {"title", k ? k->title : c.fault},
          {"entity", c.entity},
          {"layer", diagnose::layer_name(c.layer)},
          {"confidence", c.confidence},
          {"explained", c.explained},
          {"contradicted", c.contradicted},
          {"impact", impact},
          {"settling_test", c.settling_test}};
}

Json incident_document(const control::Incident& i) {
  constexpr const char* kStates[] = {"open", "acting", "recovered", "reported", "undecided", "released", "closed"};
  constexpr const char* kSeverity[] = {"info", "warning", "error", "fatal"};
  Json causes = Json::array(), findings = Json::array(), plans = Json::array(), lines = Json::array();
  for (const auto& c : i.diagnosis.causes) causes.push_back(cause_document(c));
  for (const auto& f : i.diagnosis.findings) {
    Json evidence = Json::array();
    for (const auto& e : f.evidence)
      evidence.push_back({{"metric", e.metric}, {"entity", e.entity}, {"value", e.value}, {"baseline", e.baseline}, {"text", e.text}});
    findings.push_back({{"sign", f.sign},
                        {"entity", f.entity},
                        {"layer", diagnose::layer_name(f.layer)},
                        {"since", instant(f.since)},
                        {"strength", f.strength},
                        {"evidence", evidence}});
  }
  for (const auto& p : i.plans) {
    Json actions = Json::array();
    for (const auto& a : p.actions)
      actions.push_back({{"id", a.id}, {"kind", a.kind}, {"target", a.target}, {"why", a.why}, {"undo", a.undo_kind}});
    plans.push_back({{"id", p.id},
                     {"policy", p.policy},
                     {"owner", p.owner},
                     {"reason", p.reason},
                     {"report", p.report},
                     {"actions", actions},
                     {"release_when", p.release_when}});
  }
  for (const auto& l : i.lines) lines.push_back({{"at", instant(l.at)}, {"phase", l.phase}, {"text", l.text}});
  return {{"id", i.id},
          {"state", kStates[static_cast<int>(i.state)]},
          {"severity", kSeverity[static_cast<int>(i.severity)]},
          {"unknown", i.diagnosis.unknown},
          {"undecided", i.diagnosis.undecided},
          {"first_sample", instant(i.first_sample)},
          {"detected", instant(i.detected)},
          {"located", instant(i.located)},
          {"isolated", instant(i.isolated)},
          {"recovered", instant(i.recovered)},
          {"released", instant(i.released)},
          {"closed", instant(i.closed)},
          {"causes", causes},
          {"findings", findings},
          {"plans", plans},
          {"lines", lines}};
}

}  // namespace

struct Feed::Impl {
  Snapshot site;
  const telemetry::SeriesTable& table;
  FeedOptions options;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::vector<Ring> rings;
  std::string site_text, state_text = "{}", jobs_text = "{\"jobs\":[]}", incidents_text = "{\"incidents\":[]}",
                         inspection_text = "{\"cells\":[]}", audit_text = "{\"entries\":[]}";
  std::deque<std::pair<std::uint64_t, std::string>> events;
  std::uint64_t last_event = 0;
  std::shared_ptr<const Snapshot> now;
  std::string verdict;

  Impl(const Snapshot& s, const telemetry::SeriesTable& t, const FeedOptions& o) : site(s), table(t), options(o) {}

  void emit(const char* kind, const Json& body) {
    ++last_event;
    events.emplace_back(last_event, fmt::format("id: {}\nevent: {}\ndata: {}\n\n", last_event, kind, dump_json(body, -1)));
    while (events.size() > options.lines) events.pop_front();
    changed.notify_all();
  }
  const std::pair<std::int64_t, float>* latest(std::string_view m, std::string_view entity, std::string_view labels = {}) const {
    telemetry::SeriesId id = table.find(m, entity, labels);
    return id.v < rings.size() ? rings[id.v].last() : nullptr;
  }
};

Feed::Feed(const Snapshot& site, const telemetry::SeriesTable& series, const FeedOptions& options)
    : impl_(std::make_unique<Impl>(site, series, options)) {
  impl_->site_text = dump_json(site_document(site), -1);
}
Feed::~Feed() = default;

void Feed::add(const telemetry::Batch& batch) {
  std::lock_guard lock(impl_->mutex);
  for (const telemetry::Sample& s : batch.samples) {
    if (s.series.v >= impl_->rings.size()) impl_->rings.resize(std::max<std::size_t>(s.series.v + 1, impl_->table.size()));
    impl_->rings[s.series.v].push(impl_->options.points_per_series, s.at, s.value);
  }
}

void Feed::add(const control::Line& line) {
  std::lock_guard lock(impl_->mutex);
  impl_->emit(
      "line",
      {{"at", instant(line.at)}, {"phase", line.phase}, {"incident", line.incident}, {"text", line.text}, {"confidence", line.confidence}});
}

void Feed::set_inspection(const inspect::Inspection& inspection) {
  std::string text = dump_json(inspect::to_json(inspection), -1);
  std::lock_guard lock(impl_->mutex);
  impl_->inspection_text = std::move(text);
}

void Feed::set_audit(const std::vector<store::JournalEntry>& entries) {
  Json list = Json::array();
  for (const auto& e : entries)
    list.push_back({{"sequence", e.sequence},
                    {"at", instant(e.at)},
                    {"kind", e.kind},
                    {"subject", e.subject},
                    {"entity", e.entity},
                    {"who", e.who},
                    {"why", e.why},
                    {"before", *e.before},
                    {"after", *e.after}});
  std::string text = dump_json({{"entries", list}}, -1);
  std::lock_guard lock(impl_->mutex);
  impl_->audit_text = std::move(text);
}

void Feed::finish(const std::string& verdict) {
  std::lock_guard lock(impl_->mutex);
  impl_->verdict = verdict;
  impl_->emit("finished", {{"verdict", verdict}});
}

void Feed::publish(const control::Loop& loop, Instant now, Instant start, double speed, bool virtual_clock) {
  auto snapshot = loop.snapshot();
  auto incidents = loop.incidents();
  auto jobs = loop.jobs();
  std::lock_guard lock(impl_->mutex);
  Impl& d = *impl_;
  d.now = snapshot;

  // Suspect: named first by an open incident. Isolated: cordoned or failed in the snapshot.
  std::map<std::string, std::string> marks;
  int open = 0;
  Json incident_list = Json::array();
  for (const auto& i : incidents) {
    bool active = i.state != control::IncidentState::kClosed && i.state != control::IncidentState::kReleased;
    open += active && i.severity > telemetry::Severity::kInfo;
    if (active && !i.diagnosis.causes.empty()) marks[i.diagnosis.causes[0].entity] = "suspect";
    incident_list.push_back(incident_document(i));
  }
  Json cards = Json::object(), links = Json::array();
  int well = 0, suspect = 0, isolated = 0;
  for (DeviceId c : snapshot->cards()) {
    std::string name = snapshot->name(c), health = "well";
    bool marked = false;
    for (DeviceId at = c; at.ok(); at = snapshot->device(at).parent) marked = marked || marks.contains(snapshot->name(at));
    if (!snapshot->usable(c)) health = "isolated", ++isolated;
    else if (marked || snapshot->health(c).state == fabric::DeviceState::kSuspect) health = "suspect", ++suspect;
    else ++well;
    Json card = {{"health", health}};
    if (auto v = d.latest(metric::kGpuTemp, name)) card["temp"] = v->second;
    if (auto v = d.latest(metric::kPower, name)) card["power"] = v->second;
    if (auto v = d.latest(metric::kTensorActive, name)) card["load"] = v->second;
    cards[name] = std::move(card);
  }
  for (const auto& [id, h] : snapshot->link_overlay())
    links.push_back({{"id", id.v},
                     {"name", snapshot->name(id)},
                     {"state", h.state == fabric::LinkState::kDown       ? "down"
                               : h.state == fabric::LinkState::kDegraded ? "degraded"
                                                                         : "up"},
                     {"in_service", h.in_service},
                     {"rate_factor", h.rate_factor}});
  Json facility = Json::object();
  for (DeviceKind k : {DeviceKind::kRack, DeviceKind::kCdu})
    for (DeviceId r : snapshot->of_kind(k)) {
      std::string name = snapshot->name(r);
      Json values = Json::object();
      for (auto [key, m] : {std::pair{"power", metric::kRackPower},
                            {"flow", metric::kCoolantFlow},
                            {"supply", metric::kCoolantSupply},
                            {"return", metric::kCoolantReturn}})
        if (auto v = d.latest(m, name)) values[key] = v->second;
      facility[name] = std::move(values);
    }
  Json job_list = Json::array();
  for (const auto& j : jobs) {
    std::string entity = "job/" + j.job.name;
    Json placed = Json::array(), split = Json::object(), groups = Json::array();
    for (DeviceId c : j.placement.cards) placed.push_back(snapshot->name(c));
    for (const auto& g : j.placement.groups) groups.push_back({{"name", g.name()}, {"ranks", g.ranks}});
    for (auto [key, m] : {std::pair{"compute", metric::kComputeSeconds},
                          {"wait", metric::kWaitSeconds},
                          {"data", metric::kDataSeconds},
                          {"checkpoint", metric::kCheckpointSeconds}})
      if (auto v = d.latest(m, entity)) split[key] = v->second;
    for (const char* dim : {"tp", "pp", "dp", "ep", "cp"})
      if (auto v = d.latest(metric::kCommSeconds, entity, std::string("dim=") + dim)) split[dim] = v->second;
    Json job = {{"name", j.job.name},
                {"model", j.job.model.name},
                {"kind", j.job.kind == workload::JobKind::kTraining ? "training" : "inference"},
                {"running", j.running},
                {"cards", placed},
                {"groups", groups},
                {"expected_step", j.placement.score},
                {"checkpoint_step", j.last_checkpoint_step},
                {"split", split}};
    for (auto [key, m] : {std::pair{"step", metric::kStepSeconds},
                          {"mfu", metric::kMfu},
                          {"step_number", metric::kStepNumber},
                          {"ttft", metric::kTtft},
                          {"tpot", metric::kTpot}})
      if (auto v = d.latest(m, entity)) job[key] = v->second;
    job_list.push_back(std::move(job));
  }
  Json state = {{"site", snapshot->site_name()},
                {"now", instant(now)},
                {"start", instant(start)},
                {"speed", speed},
                {"virtual", virtual_clock},
                {"version", snapshot->version()},
                {"counts", {{"well", well}, {"suspect", suspect}, {"isolated", isolated}, {"open_incidents", open}}},
                {"cards", cards},
                {"links", links},
                {"facility", facility},
                {"verdict", d.verdict}};
  d.state_text = dump_json(state, -1);
  d.jobs_text = dump_json({{"jobs", job_list}}, -1);
  d.incidents_text = dump_json({{"incidents", incident_list}}, -1);
  d.emit("tick", {{"now", instant(now)}});
}

std::string Feed::site() const { return impl_->site_text; }
std::string Feed::state() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->state_text;
}
std::string Feed::jobs() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->jobs_text;
}
std::string Feed::incidents() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->incidents_text;
}
std::string Feed::inspection() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->inspection_text;
}
std::string Feed::audit() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->audit_text;
}

Result<std::string> Feed::series(const std::string& m, const std::string& entity) const {
  if (m.empty() || entity.empty()) return fail(ErrorKind::kInvalid, "series needs metric=NAME and entity=NAME");
  std::lock_guard lock(impl_->mutex);
  Json list = Json::array();
  for (telemetry::SeriesId id : impl_->table.of_entity(entity)) {
    if (impl_->table.metric(id) != m || id.v >= impl_->rings.size()) continue;
    Json points = Json::array();
    impl_->rings[id.v].each([&](const auto& p) { points.push_back({p.first, p.second}); });
    list.push_back({{"labels", impl_->table.labels(id)}, {"points", points}});
  }
  // A series nobody has sent yet is an empty answer, not an error.
  return dump_json({{"metric", m}, {"entity", entity}, {"series", list}}, -1);
}

Result<std::string> Feed::entity(const std::string& name) const {
  if (name.empty()) return fail(ErrorKind::kInvalid, "entity needs name=NAME");
  std::lock_guard lock(impl_->mutex);
  const Snapshot& site = impl_->site;
  if (impl_->table.of_entity(name).empty() && !site.find_device(name) && !site.find_port(name) && !site.find_link(name))
    return fail(ErrorKind::kNotFound, "nothing is called '" + name.substr(0, 120) + "' here");
  Json list = Json::array();
  for (telemetry::SeriesId id : impl_->table.of_entity(name))
    if (id.v < impl_->rings.size())
      if (auto v = impl_->rings[id.v].last())
        list.push_back({{"metric", impl_->table.metric(id)}, {"labels", impl_->table.labels(id)}, {"at", v->first}, {"value", v->second}});
  return dump_json({{"entity", name}, {"values", list}}, -1);
}

Result<std::string> Feed::paths(const std::string& from, const std::string& to, const std::string& network) const {
  std::shared_ptr<const Snapshot> now;
  {
    std::lock_guard lock(impl_->mutex);
    now = impl_->now;
  }
  const Snapshot& s = now ? *now : impl_->site;
  WEFT_ASSIGN(auto a, s.find_device(from));
  WEFT_ASSIGN(auto b, s.find_device(to));
  fabric::Routes routes(s);
  auto role = fabric::parse_network(network);
  if (!network.empty() && !role) return fail(ErrorKind::kInvalid, "network is scale-up, scale-out, storage or management");
  const fabric::Route& route = role ? routes.between(a, b, *role) : routes.best(a, b);
  Json hops = Json::array();
  for (const auto& h : route.hops) hops.push_back({{"link", h.link.link().v}, {"name", s.name(h.link.link())}, {"share", h.share}});
  return dump_json({{"from", s.name(a)},
                    {"to", s.name(b)},
                    {"reachable", route.reachable},
                    {"length", route.length},
                    {"latency_ns", route.latency.value() * 1e9},
                    {"gBps", route.width.value() / 1e9},
                    {"hops", hops}},
                   -1);
}

std::uint64_t Feed::events(std::uint64_t after, Duration timeout, std::vector<std::string>& out) const {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, std::chrono::nanoseconds(timeout.value()), [&] { return impl_->last_event > after; });
  for (const auto& [id, text] : impl_->events)
    if (id > after) out.push_back(text);
  return impl_->last_event;
}

}  // namespace weft::serve
