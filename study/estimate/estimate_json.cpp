#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <sstream>

#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/estimate/estimate_shown.hpp"
#include "study/estimate/terms.hpp"

namespace pipeloom::study {
namespace {

using estimate::Category;

constexpr TimeUnit kUnit = TimeUnit::Millisecond;

constexpr int kAllDigits = 17;

/// As many digits as an estimate is worth.
double shortened_number(double value, int digits = 6) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

void member(io::JsonWriter& out, std::string_view key, const std::optional<double>& number, int digits = 6) {
  out.line(2).key(key);
  if (number)
    out.number(shortened_number(*number, digits));
  else
    out.null();
}

void write_rates(io::JsonWriter& out, const EstimatedRun& run) {
  const auto of = [&](auto&& pick) -> std::optional<double> {
    if (!run.rates) return std::nullopt;
    return pick(*run.rates);
  };
  out.line(2).key("parameters");
  if (run.rates)
    out.number(run.rates->parameters);
  else
    out.null();
  out.line(2).key("active_parameters");
  if (run.rates)
    out.number(run.rates->active_parameters);
  else
    out.null();
  member(out, "flops_per_token",
         of([](const TrainingRates& rates) { return std::optional(rates.terms.flops_per_token); }), 12);
  out.line(2).key("step_time_ms").ticks(run.run.metrics->step_time, kUnit);
  member(out, "bubble_ratio", run.run.metrics->bubble_ratio);
  member(out, "tokens_per_s",
         of([](const TrainingRates& rates) { return std::optional(rates.tokens_per_s); }), kAllDigits);
  member(out, "tokens_per_s_per_gpu",
         of([](const TrainingRates& rates) { return std::optional(rates.tokens_per_s_per_gpu); }),
         kAllDigits);
  member(out, "mfu", of([](const TrainingRates& rates) { return rates.mfu; }));
  member(out, "hfu", of([](const TrainingRates& rates) { return rates.hfu; }));
  member(out, "gpu_hours", of([](const TrainingRates& rates) { return rates.gpu_hours; }));
}

/// Times of UNSHARD and REDUCE_GRAD of the stage, where its parameters are shared out.
void write_shards(io::JsonWriter& out, const EstimatedRun& run, const estimate::Stage& stage) {
  const estimate::Setting& setting = run.costs().setting;
  if (setting.split.zero < 3 || setting.hardware == nullptr) return;
  const estimate::ShardTimes times = estimate::shard_times(setting, stage);
  out.key("unshard_ms").number(shortened_number(times.gather * 1e3));
  out.key("reduce_grad_ms").number(shortened_number(times.reduction * 1e3));
}

void write_stages(io::JsonWriter& out, const EstimatedRun& run) {
  out.line(2).key("stages").array();
  for (std::size_t s = 0; s < run.costs().estimate.stages.size(); ++s) {
    const estimate::Stage& stage = run.costs().estimate.stages[s];
    const auto time = [&](const char* key, OpKind kind) {
      out.key(key).ticks(pass_ticks(run, s, kind), kUnit);
    };
    out.line(4).object().member("stage", s).member("layers", stage.layers);
    time("forward_ms", OpKind::Forward);
    time("backward_input_ms", OpKind::BackwardInput);
    time("backward_weight_ms", OpKind::BackwardWeight);
    if (shares_head(run.costs().setting)) {
      time("output_ms", OpKind::Output);
      time("output_weight_ms", OpKind::OutputWeight);
    }
    write_shards(out, run, stage);
    out.close();
  }
  out.close(2);
}

void write_ranks(io::JsonWriter& out, const EstimatedRun& run) {
  out.line(2).key("ranks").array();
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const RankBytes& rank = run.ranks[r];
    out.line(4).object().member("rank", r).member("peak_bytes", rank.peak).key("headroom_bytes");
    if (rank.headroom)
      out.number(*rank.headroom);
    else
      out.null();
    out.key("peak_op").quoted(run.run.schedule->ops()[rank.peak_op]);
    out.key("categories").object();
    for (std::size_t i = 0; i < estimate::kCategories; ++i)
      out.member(estimate::name_of(static_cast<Category>(i)), rank.categories.bytes[i]);
    out.close().close();
  }
  out.close(2);
}

void write_terms(io::JsonWriter& out, const EstimatedRun& run) {
  out.line(2).key("terms").array();
  for (const StepTerm& term : step_terms(run)) {
    out.line(4).object().member("term", term.name);
    out.key("ms")
        .number(shortened_number(term.seconds * 1e3))
        .key("share")
        .number(shortened_number(term.share));
    out.key("found").object();
    for (std::size_t basis = 0; basis < hardware::kBases; ++basis)
      if (term.found[basis] > 0)
        out.member(hardware::name_of(static_cast<hardware::Basis>(basis)), term.found[basis]);
    out.close().close();
  }
  out.close(2);
}

void write_origins(io::JsonWriter& out, const EstimatedRun& run) {
  out.line(2).key("origins").object();
  for (const auto& [key, text] : origins_of(run)) out.line(4).key(key).text(text);
  out.close(2);
}

}  // namespace

std::string estimate_json(const EstimatedRun& run) {
  std::ostringstream stream;
  {
    io::TextWriter text(stream);
    io::JsonWriter out(text);
    out.object().line(2).member("schema_version", 1);
    write_rates(out, run);
    write_stages(out, run);
    write_ranks(out, run);
    write_terms(out, run);
    write_origins(out, run);
    out.close(0);
    text << '\n';
    text.flush();
  }
  return stream.str();
}

}  // namespace pipeloom::study
