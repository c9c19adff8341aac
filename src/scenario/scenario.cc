#include "scenario/scenario.h"

#include <algorithm>
#include <filesystem>

#include "base/embedded.h"
#include "base/text.h"
#include "workload/model.h"

namespace weft::scenario {
namespace {

Status read_int(const Yaml& from, std::string_view key, int low, int high, int& into) {
  if (!from.has(key)) return {};
  WEFT_ASSIGN(auto v, from.get(key).integer(low, high));
  into = static_cast<int>(v);
  return {};
}

Status read_duration(const Yaml& from, std::string_view key, Duration& into) {
  if (!from.has(key)) return {};
  WEFT_ASSIGN(auto v, from.get(key).quantity("s"));
  if (!(v >= 0) || v > 400.0 * 86400) return from.get(key).error("a duration between 0 and 400 days is expected");
  into = seconds(v);
  return {};
}

Status read_text(const Yaml& from, std::string_view key, std::string& into) {
  if (!from.has(key)) return {};
  WEFT_ASSIGN(into, from.get(key).text());
  return {};
}

Result<workload::Strategy> parse_strategy(const Yaml& yaml) {
  workload::Strategy s;
  if (yaml.is_null()) return s;
  WEFT_TRY(yaml.only(
      {"tp", "pp", "dp", "ep", "cp", "virtual_stages", "micro_batch", "global_batch", "sequence", "zero", "recompute", "precision"}));
  WEFT_TRY(read_int(yaml, "tp", 1, 1 << 20, s.tp));
  WEFT_TRY(read_int(yaml, "pp", 1, 1 << 20, s.pp));
  WEFT_TRY(read_int(yaml, "dp", 1, 1 << 20, s.dp));
  WEFT_TRY(read_int(yaml, "ep", 1, 1 << 20, s.ep));
  WEFT_TRY(read_int(yaml, "cp", 1, 1 << 20, s.cp));
  WEFT_TRY(read_int(yaml, "virtual_stages", 1, 1024, s.virtual_stages));
  WEFT_TRY(read_int(yaml, "micro_batch", 1, 1 << 20, s.micro_batch));
  WEFT_TRY(read_int(yaml, "global_batch", 1, 1 << 28, s.global_batch));
  WEFT_TRY(read_int(yaml, "sequence", 1, 1 << 24, s.sequence));
  WEFT_TRY(read_int(yaml, "zero", 0, 3, s.zero));
  if (yaml.has("recompute")) {
    WEFT_ASSIGN(auto v, yaml.get("recompute").text());
    if (v == "none") s.recompute = workload::Strategy::Recompute::kNone;
    else if (v == "selective") s.recompute = workload::Strategy::Recompute::kSelective;
    else if (v == "full") s.recompute = workload::Strategy::Recompute::kFull;
    else return yaml.get("recompute").error("recompute is none, selective or full");
  }
  if (yaml.has("precision")) {
    WEFT_ASSIGN(auto v, yaml.get("precision").text());
    if (v == "bf16") s.precision = workload::Precision::kBf16;
    else if (v == "fp8") s.precision = workload::Precision::kFp8;
    else return yaml.get("precision").error("precision is bf16 or fp8");
  }
  return s;
}

Result<workload::Policy> parse_policy(const Yaml& yaml) {
  workload::Policy p;
  if (yaml.is_null()) return p;
  WEFT_TRY(yaml.only({"on_fault", "checkpoint_every", "spare_nodes", "allow_migration", "degraded_limit", "max_restarts"}));
  if (yaml.has("on_fault")) {
    WEFT_ASSIGN(auto v, yaml.get("on_fault").text());
    if (v == "checkpoint-restart") p.on_fault = workload::Policy::OnFault::kCheckpointRestart;
    else if (v == "continue-degraded") p.on_fault = workload::Policy::OnFault::kContinueDegraded;
    else return yaml.get("on_fault").error("on_fault is checkpoint-restart or continue-degraded");
  }
  WEFT_TRY(read_duration(yaml, "checkpoint_every", p.checkpoint_every));
  WEFT_TRY(read_int(yaml, "spare_nodes", 0, 1 << 20, p.spare_nodes));
  WEFT_TRY(read_int(yaml, "max_restarts", 0, 1 << 20, p.max_restarts));
  if (yaml.has("allow_migration")) {
    WEFT_ASSIGN(p.allow_migration, yaml.get("allow_migration").boolean());
  }
  if (yaml.has("degraded_limit")) {
    WEFT_ASSIGN(p.degraded_limit, yaml.get("degraded_limit").number(0, 1));
  }
  return p;
}

Result<twin::FaultSpec> parse_fault(const Yaml& yaml) {
  twin::FaultSpec f;
  WEFT_TRY(yaml.only({"fault", "target", "at", "lasts", "magnitude", "parameters"}));
  if (!yaml.has("fault")) return yaml.error("a fault needs 'fault: NAME' ('weft list faults' shows them)");
  WEFT_TRY(read_text(yaml, "fault", f.fault));
  WEFT_TRY(read_text(yaml, "target", f.target));
  WEFT_TRY(read_duration(yaml, "at", f.at));
  WEFT_TRY(read_duration(yaml, "lasts", f.lasts));
  if (yaml.has("magnitude")) {
    WEFT_ASSIGN(f.magnitude, yaml.get("magnitude").number(0.01, 100));
  }
  for (const auto& [key, value] : yaml.get("parameters").entries()) {
    WEFT_ASSIGN(f.parameters[key], value.text());
  }
  return f;
}

Result<Expectation> parse_expectation(const Yaml& yaml) {
  Expectation e;
  WEFT_TRY(yaml.only({"fault", "outcome", "recover_within", "detect_within", "look_alikes"}));
  if (!yaml.has("fault")) return yaml.error("an expectation needs 'fault: NAME'");
  WEFT_TRY(read_text(yaml, "fault", e.fault));
  WEFT_TRY(read_text(yaml, "outcome", e.outcome));
  if (!e.outcome.empty() && e.outcome != "recovered" && e.outcome != "reported" && e.outcome != "watched")
    return yaml.get("outcome").error("outcome is recovered, reported or watched");
  WEFT_TRY(read_duration(yaml, "recover_within", e.recover_within));
  WEFT_TRY(read_duration(yaml, "detect_within", e.detect_within));
  for (const Yaml& item : yaml.get("look_alikes").items()) {
    WEFT_ASSIGN(auto v, item.text());
    e.look_alikes.push_back(v);
  }
  return e;
}

}  // namespace

Result<workload::Job> parse_job(const Yaml& yaml) {
  workload::Job job;
  WEFT_TRY(yaml.only({"name", "kind", "model", "strategy", "policy", "inference", "priority", "dataset_per_step"}));
  if (!yaml.has("name")) return yaml.error("a job needs a name");
  WEFT_TRY(read_text(yaml, "name", job.name));
  if (job.name.empty() || job.name.find('/') != std::string::npos) return yaml.get("name").error("a job's name is one word without '/'");
  if (!yaml.has("model")) return yaml.error("job '" + job.name + "' needs a model, e.g. 'model: llama-3-8b'");
  WEFT_ASSIGN(auto model, yaml.get("model").text());
  auto found = workload::load_model(model);
  if (!found) return std::unexpected(found.error().in(yaml.get("model").place()));
  job.model = *found;
  if (yaml.has("kind")) {
    WEFT_ASSIGN(auto kind, yaml.get("kind").text());
    if (kind == "training") job.kind = workload::JobKind::kTraining;
    else if (kind == "inference") job.kind = workload::JobKind::kInference;
    else return yaml.get("kind").error("kind is training or inference");
  }
  WEFT_ASSIGN(job.strategy, parse_strategy(yaml.get("strategy")));
  WEFT_ASSIGN(job.policy, parse_policy(yaml.get("policy")));
  const Yaml inference = yaml.get("inference");
  if (!inference.is_null()) {
    WEFT_TRY(inference.only({"prompt_tokens", "output_tokens", "decode_batch", "prefill_ranks", "request_rate"}));
    WEFT_TRY(read_int(inference, "prompt_tokens", 1, 1 << 24, job.inference.prompt_tokens));
    WEFT_TRY(read_int(inference, "output_tokens", 1, 1 << 24, job.inference.output_tokens));
    WEFT_TRY(read_int(inference, "decode_batch", 1, 1 << 20, job.inference.decode_batch));
    WEFT_TRY(read_int(inference, "prefill_ranks", 0, 1 << 20, job.inference.prefill_ranks));
    if (job.kind != workload::JobKind::kInference)
      return inference.error("only a job of 'kind: inference' has these; training has strategy and dataset_per_step");
    if (inference.has("request_rate")) {
      WEFT_ASSIGN(job.inference.request_rate, inference.get("request_rate").number(0, 1e9));
    }
  }
  WEFT_TRY(read_int(yaml, "priority", -1000000, 1000000, job.priority));
  if (yaml.has("dataset_per_step")) {
    WEFT_ASSIGN(auto v, yaml.get("dataset_per_step").quantity("B"));
    job.dataset_per_step = Bytes(static_cast<std::int64_t>(v));
  }
  if (Status ok = workload::validate(job.model, job.strategy); !ok) return std::unexpected(ok.error().in(yaml.place()));
  int prefill = job.inference.prefill_ranks;
  if (prefill % job.strategy.tp || prefill >= job.strategy.world() || (prefill > 0 && job.strategy.pp > 1))
    return inference.get("prefill_ranks")
        .error("ranks for prefill are whole tensor-parallel groups, leave some to decode, and need pp 1: tp " +
               std::to_string(job.strategy.tp) + ", " + std::to_string(job.strategy.world()) + " ranks");
  return job;
}

Result<Scenario> parse_scenario(std::string_view text, std::string file) {
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, file));
  Scenario s;
  s.file = file;
  WEFT_TRY(yaml.only({"name", "title", "site", "for", "sample_every", "jobs", "faults", "expect", "quiet"}));
  s.name = std::filesystem::path(file).stem().string();
  WEFT_TRY(read_text(yaml, "name", s.name));
  WEFT_TRY(read_text(yaml, "title", s.title));
  if (!yaml.has("site")) return yaml.error("a scenario needs a site, e.g. 'site: lab-32'");
  WEFT_TRY(read_text(yaml, "site", s.site));
  WEFT_TRY(read_duration(yaml, "for", s.lasts));
  WEFT_TRY(read_duration(yaml, "sample_every", s.sample_every));
  if (s.sample_every < milliseconds(100)) return yaml.get("sample_every").error("sampling faster than 100 ms is not modelled");
  if (yaml.has("quiet")) {
    WEFT_ASSIGN(s.quiet, yaml.get("quiet").boolean());
  }
  for (const Yaml& item : yaml.get("jobs").items()) {
    WEFT_ASSIGN(auto job, parse_job(item));
    for (const workload::Job& other : s.jobs)
      if (other.name == job.name) return item.error("two jobs are named '" + job.name + "'");
    s.jobs.push_back(std::move(job));
  }
  for (const Yaml& item : yaml.get("faults").items()) {
    WEFT_ASSIGN(auto fault, parse_fault(item));
    if (fault.at > s.lasts) return item.error("the fault comes after the end of the scenario ('for')");
    s.faults.push_back(std::move(fault));
  }
  for (const Yaml& item : yaml.get("expect").items()) {
    WEFT_ASSIGN(auto expectation, parse_expectation(item));
    bool known = std::any_of(s.faults.begin(), s.faults.end(), [&](const auto& f) { return f.fault == expectation.fault; });
    if (!known) return item.error("no fault '" + expectation.fault + "' in this scenario");
    s.expect.push_back(std::move(expectation));
  }
  return s;
}

Result<Scenario> read_scenario(const std::string& name_or_path) {
  if (auto text = embedded_file("scenarios/" + name_or_path + ".yaml")) return parse_scenario(*text, "scenarios/" + name_or_path + ".yaml");
  auto text = read_file(name_or_path, 16 << 20);
  if (!text) {
    if (text.error().kind == ErrorKind::kNotFound && name_or_path.find('/') == std::string::npos)
      return fail(ErrorKind::kNotFound, "no scenario '" + name_or_path + "', neither built in ('weft scenario list') nor as a file");
    return std::unexpected(text.error());
  }
  return parse_scenario(*text, name_or_path);
}

Result<std::vector<Scenario>> read_scenarios(const std::string& path) {
  std::vector<Scenario> out;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    if (files.empty()) return fail(ErrorKind::kNotFound, "no scenario files (*.yaml) in this folder", path);
    for (const std::string& f : files) {
      WEFT_ASSIGN(auto s, read_scenario(f));
      out.push_back(std::move(s));
    }
    return out;
  }
  if (path == "scenarios" || path == "scenarios/") {
    for (const std::string& p : embedded_paths("scenarios/")) {
      if (!p.ends_with(".yaml") || p.find('/', 10) != std::string::npos) continue;
      WEFT_ASSIGN(auto text, embedded_file(p));
      WEFT_ASSIGN(auto s, parse_scenario(text, p));
      out.push_back(std::move(s));
    }
    return out;
  }
  WEFT_ASSIGN(auto s, read_scenario(path));
  out.push_back(std::move(s));
  return out;
}

}  // namespace weft::scenario
