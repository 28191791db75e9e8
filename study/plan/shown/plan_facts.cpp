#include "study/plan/shown/plan_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/base/number_text.hpp"
#include "sim/model/patterns.hpp"
#include "study/estimate/accuracy.hpp"
#include "study/run/training.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

/// A run of the plan that is of a model: what the model is spread over is the same for all. Null where none is.
const ModelRun* model_run(const Plan& plan) {
  const auto of = [](const PlanCandidate& one) { return one.run.model ? &*one.run.model : nullptr; };
  if (plan.baseline) return of(*plan.baseline);
  if (!plan.candidates.empty()) return of(plan.candidates.front());
  return plan.over.empty() ? nullptr : of(plan.over.front());
}

std::string precision_of(const estimate::Setting& setting) {
  if (setting.hardware == nullptr) return "";
  return std::string(name_of(setting.hardware->precision));
}

/// Samples of a step: those of all replicas.
std::int64_t batch_of(const io::Config& workload) {
  const cost::ModelSpec& spec = workload.costs.model;
  return std::int64_t{workload.microbatches} * spec.micro_batch * spec.data;
}

/// "30 %", "12.5 %".
std::string short_percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

/// "2 samples", "1 sample".
std::string counted(std::int64_t count, std::string_view noun) {
  return count_text(static_cast<std::size_t>(count), noun);
}

std::string devices_line(const estimate::Setting& setting, const TrainingTerms& training) {
  const model::Split& split = setting.split;
  std::string out =
      fmt::format("{}, {}", setting.model->name, counted(std::ssize(setting.model->layers), "layer"));
  if (setting.hardware != nullptr)
    out += fmt::format(", on {} {}", count_text(static_cast<std::size_t>(training.devices)),
                       setting.hardware->name);
  return out + fmt::format(": pp {}, tp {}, dp {}, cp {}, ep {}, ZeRO {}", split.pipeline, split.tensor,
                           split.data, split.context, split.expert, split.zero);
}

/// The keys of costs.hidden.
constexpr std::array<std::pair<std::string_view, model::Group>, model::kGroups> kHiddenKeys = {
    {{"tp", model::Group::Tensor},
     {"cp", model::Group::Context},
     {"ep", model::Group::Expert},
     {"dp", model::Group::Data}}};

double hidden_of(const estimate::Setting& setting, model::Group group) {
  return setting.hidden[static_cast<std::size_t>(group)];
}

std::string batch_line(const io::Config& workload, const estimate::Setting& setting) {
  const cost::ModelSpec& spec = workload.costs.model;
  std::string out =
      fmt::format("batch {}: {} of {}", batch_of(workload), counted(workload.microbatches, "microbatch"),
                  counted(spec.micro_batch, "sample"));
  if (spec.data > 1) out += fmt::format(" on each of {}", counted(spec.data, "replica"));
  if (setting.split.sequence > 0)
    out += fmt::format(", {} a sample", counted(setting.split.sequence, "token"));
  if (const std::string precision = precision_of(setting); !precision.empty()) out += "; " + precision;
  return out + "; " + hidden_text(setting);
}

std::string shape_line(const io::Config& workload) {
  std::string out;
  if (workload.ranks > 0)
    out = fmt::format("{}, {}; ", counted(workload.ranks, "rank"),
                      counted(workload.microbatches, "microbatch"));
  const cost::ModelSpec& spec = workload.costs.model;
  if (!spec.model.empty())
    return out + spec.model + (spec.hardware.empty() ? "" : " on " + spec.hardware) +
           fmt::format(", tp {}, dp {}, cp {}, ep {}", spec.tensor, spec.data, spec.context, spec.expert);
  return out + (workload.given.has("costs") ? "costs as given" : "unit costs: F, I and W 1, B 2");
}

/// Sizes that are relative count activations of a stage.
std::string room_text(const Plan& plan, Bytes bytes) {
  if (plan.activation > 0)
    return fmt::format("{:.4g} activations", static_cast<double>(bytes) / plan.activation);
  return short_bytes_text(bytes);
}

template <class Number>
void member(io::JsonWriter& out, std::string_view key, const std::optional<Number>& number) {
  out.key(key);
  if (number)
    out.number(*number);
  else
    out.null();
}

void write_model(io::JsonWriter& out, const io::Config& workload, const ModelRun& run) {
  const estimate::Setting& setting = run.costs.setting;
  const model::Split& split = setting.split;
  out.member("model", setting.model->name);
  out.member("hardware", setting.hardware == nullptr ? "" : setting.hardware->name);
  out.key("devices").number(run.training.devices);
  out.member("tp", split.tensor)
      .member("dp", split.data)
      .member("cp", split.context)
      .member("ep", split.expert);
  out.member("zero", split.zero)
      .member("seq", split.sequence)
      .member("micro_batch", workload.costs.model.micro_batch);
  out.member("global_batch", batch_of(workload)).member("precision", precision_of(setting));
  out.key("hidden_collectives").number(hidden_of(setting, model::Group::Tensor)).key("hidden").object();
  for (const auto& [key, group] : kHiddenKeys) out.key(key).number(hidden_of(setting, group));
  out.close();
  out.member("accuracy", setting.model->profile
                             ? ""
                             : accuracy_on(setting.hardware->name, model::has_experts(*setting.model)));
}

}  // namespace

std::string hidden_text(const estimate::Setting& setting) {
  const double tensor = hidden_of(setting, model::Group::Tensor);
  const bool is_one = hidden_of(setting, model::Group::Context) == tensor &&
                      hidden_of(setting, model::Group::Expert) == tensor &&
                      hidden_of(setting, model::Group::Data) == 0;
  if (is_one) return short_percent(tensor) + " of exchanges hidden";
  std::string out;
  for (const auto& [key, group] : kHiddenKeys)
    out +=
        fmt::format("{}{} of {}'s", out.empty() ? "" : ", ", short_percent(hidden_of(setting, group)), key);
  return out + " exchanges hidden";
}

std::string room_line(const Plan& plan) {
  const Room& room = plan.room;
  std::string held = room.usable ? "a rank may hold " + room_text(plan, *room.usable) : "";
  if (!room.device) return held;
  std::string kept = fmt::format("{} of {} stay free for the allocator and NCCL (--headroom)",
                                 short_percent(room.headroom), room_text(plan, *room.device));
  if (!room.usable) return kept;
  return held + (room.limit == room.usable ? ", the limit; " : "; ") + kept;
}

std::string accuracy_line(const estimate::Setting& setting) {
  if (setting.model->profile) return "times are of a measured layer profile";
  return fmt::format("such estimates came {} (docs/accuracy.md)",
                     accuracy_on(setting.hardware->name, model::has_experts(*setting.model)));
}

std::vector<std::string> fact_lines(const Plan& plan) {
  std::vector<std::string> out;
  const ModelRun* run = model_run(plan);
  if (run == nullptr) {
    out.push_back(shape_line(plan.workload));
  } else {
    out.push_back(devices_line(run->costs.setting, run->training));
    out.push_back(batch_line(plan.workload, run->costs.setting));
  }
  if (std::string room = room_line(plan); !room.empty()) out.push_back(std::move(room));
  if (run != nullptr) out.push_back(accuracy_line(run->costs.setting));
  return out;
}

void write_facts(io::JsonWriter& out, const Plan& plan) {
  out.object().member("pp", plan.workload.ranks).member("microbatches", plan.workload.microbatches);
  member(out, "device_bytes", plan.room.device);
  member(out, "usable_bytes", plan.room.usable);
  if (const ModelRun* run = model_run(plan)) write_model(out, plan.workload, *run);
  out.close();
}

}  // namespace pipeloom::study
