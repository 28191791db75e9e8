#include "gui/model/start/model_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <new>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/command.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/report/schedule_rows.hpp"
#include "study/run/workload.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

constexpr const char* kSheetLane = "model sheet";
/// The schedule whose workload all rows share.
constexpr const char* kAnySchedule = "1f1b";

ModelLine line_of(const study::ScheduleRow& row) {
  if (!row.refusal.empty()) return {row.name, "", row.refusal, false};
  const auto step = static_cast<Ticks>(static_cast<double>(row.step_time) / row.updates);
  return {row.name, study::time_with_unit(step, row.unit), room_text(row), row.fits()};
}

std::string summary_of(const std::vector<ModelLine>& lines) {
  const auto fitting = std::ranges::count_if(lines, &ModelLine::fits);
  if (fitting == 0) return "No schedule fits: more ranks share a model with a larger TP or PP.";
  return fmt::format("{} of {} schedules fit; {} is the fastest: {}.", fitting, lines.size(),
                     lines.front().schedule, lines.front().step);
}

/// The value of a count; `otherwise` where the configuration does not say it. A refused text may be below 1.
int count_of(const ConfigModel& config, const char* key, int otherwise) {
  return std::max(1, number_in<int>(config.value(key)).value_or(otherwise));
}

/// The product of counts, or the largest number where it is larger.
int product_of(std::initializer_list<int> counts) {
  std::int64_t out = 1;
  for (const int count : counts) out = std::min<std::int64_t>(out * count, std::numeric_limits<int>::max());
  return static_cast<int>(out);
}

}  // namespace

int replicas_of(const ModelChoice& choice) {
  return choice.gpus / product_of({choice.tensor, choice.pipeline});
}

std::string problem_of(const ModelChoice& choice) {
  const int ranks = product_of({choice.tensor, choice.pipeline});
  if (choice.gpus % ranks != 0 || choice.gpus < ranks)
    return fmt::format("GPUs: a multiple of TP x PP = {}", ranks);
  const int replicas = replicas_of(choice);
  if (choice.batch % replicas != 0)
    return fmt::format("Batch: a multiple of the {} replicas that share it", replicas);
  return {};
}

Assignments configuration_of(const ModelChoice& choice, const std::string& schedule) {
  return {
      {"schedule", io::json_string(schedule)},        {"ranks", std::to_string(choice.pipeline)},
      {"costs.model", io::json_string(choice.model)}, {"costs.hardware", io::json_string(choice.hardware)},
      {"costs.tp", std::to_string(choice.tensor)},    {"costs.dp", std::to_string(replicas_of(choice))},
      {"costs.seq", std::to_string(choice.sequence)}, {"costs.global_batch", std::to_string(choice.batch)}};
}

ModelChoice choice_in(const ConfigModel& config) {
  ModelChoice choice;
  if (!config.is_set("costs.model") || !config.is_set("costs.hardware")) return choice;
  choice.model = config.value("costs.model");
  choice.hardware = config.value("costs.hardware");
  choice.tensor = count_of(config, "costs.tp", 1);
  choice.pipeline = count_of(config, "ranks", choice.pipeline);
  const int replicas = count_of(config, "costs.dp", 1);
  choice.gpus = product_of({choice.tensor, choice.pipeline, replicas});
  choice.sequence = count_of(config, "costs.seq", choice.sequence);
  const int samples =
      product_of({count_of(config, "microbatches", 1), count_of(config, "costs.micro_batch", 1), replicas});
  choice.batch = count_of(config, "costs.global_batch", samples);
  return choice;
}

void ModelSheet::show(Session& session) {
  open_ = true;
  choice_ = choice_in(session.part<ConfigModel>());
  named_.clear();
  ask(session);
}

void ModelSheet::hide(Session& session) {
  open_ = false;
  stop(session);
}

void ModelSheet::choose(Session& session, const ModelChoice& choice) {
  if (choice == choice_) return;
  choice_ = choice;
  ask(session);
}

ModelSheet::Found ModelSheet::find(const ModelChoice& choice, const Cancelled& cancelled) {
  Found out;
  try {
    const Limits limits = window_limits(cancelled);
    const study::Workload workload =
        study::workload_of(config_of(configuration_of(choice, kAnySchedule)), limits);
    for (const study::ScheduleRow& row : study::schedule_rows(workload, limits))
      out.lines.push_back(line_of(row));
    out.summary = summary_of(out.lines);
  } catch (const Error& error) {
    out.problem = error.what();
  } catch (const Stopped& ended) {
    out.problem = ended.what();
  } catch (const std::bad_alloc&) {
    out.problem = "out of memory: it is too large for this machine";
  }
  return out;
}

void ModelSheet::ask(Session& session) {
  lines_.clear();
  summary_.clear();
  problem_ = problem_of(choice_);
  under_way_ = problem_.empty();
  if (!under_way_) return session.jobs.cancel(kSheetLane);
  session.jobs.submit(kSheetLane, [this, choice = choice_](const Cancelled& cancelled) -> Jobs::Finish {
    return [this, choice, found = find(choice, cancelled)] {
      if (choice != choice_) return;
      under_way_ = false;
      lines_ = found.lines;
      summary_ = found.summary;
      problem_ = found.problem;
    };
  });
}

void ModelSheet::stop(Session& session) {
  session.jobs.cancel(kSheetLane);
  under_way_ = false;
}

std::string ModelSheet::schedule() const {
  if (!named_.empty()) return named_;
  return lines_.empty() ? kAnySchedule : lines_.front().schedule;
}

void ModelSheet::take(Session& session) {
  if (!problem_.empty()) throw InputError(Where{"model-sheet"}, problem_);
  session.part<ConfigModel>().take_up(session, "",
                                      with_schedule(configuration_of(choice_, kAnySchedule), schedule()));
  session.say(fmt::format("{} on {} {}: TP {}, PP {}, DP {}", choice_.model, choice_.gpus, choice_.hardware,
                          choice_.tensor, choice_.pipeline, replicas_of(choice_)));
  hide(session);
}

void ModelSheet::write_state(const Session&, io::JsonWriter& out) const {
  if (!open_) {
    out.null();
    return;
  }
  out.object()
      .member("model", choice_.model)
      .member("hardware", choice_.hardware)
      .member("gpus", choice_.gpus)
      .member("tp", choice_.tensor)
      .member("pp", choice_.pipeline)
      .member("seq", choice_.sequence)
      .member("batch", choice_.batch)
      .member("schedule", schedule())
      .member("summary", summary_)
      .member("problem", problem_)
      .key("lines")
      .array();
  for (const ModelLine& line : lines_)
    out.object()
        .member("schedule", line.schedule)
        .member("step", line.step)
        .member("room", line.room)
        .member("fits", line.fits)
        .close();
  out.close().close();
}

}  // namespace pipeloom::gui
