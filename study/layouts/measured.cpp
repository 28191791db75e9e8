#include "study/layouts/measured.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/hardware/section.hpp"
#include "sim/io/json/file.hpp"
#include "study/plan/candidates.hpp"
#include "study/run/input.hpp"

namespace pipeloom::study {
namespace {

constexpr std::size_t kMostRuns = 64;
constexpr double kMostFactor = 4;
int number_in(const io::Section& section, std::string_view key, int otherwise, int least = 1) {
  double out = otherwise;
  section.number(key, out, {static_cast<double>(least) - 1, kMaxIndex});
  if (out != std::floor(out))
    throw InputError(section.find(key)->where(),
                     fmt::format("{} is {}; it must be a whole number", key, section.find(key)->text()));
  return static_cast<int>(out);
}

/// The median time from a step's beginning to the next one's.
double seconds_of_steps(const Timeline& timeline, const io::Value& trace) {
  if (timeline.steps < 2)
    throw InputError(trace.where(),
                     "the trace has one step, which does not say when the next one begins; give a trace of "
                     "more steps, or the time: \"step\": \"15.9s\"");
  std::vector<Ticks> steps;
  for (int step = 1; step < timeline.steps; ++step)
    steps.push_back(span_of(timeline, step).start - span_of(timeline, step - 1).start);
  std::ranges::sort(steps);
  return static_cast<double>(steps[steps.size() / 2]) / static_cast<double>(ticks_per(TimeUnit::Second));
}

double seconds_of_trace(const io::Value& trace) {
  std::vector<std::string> files;
  for (const io::Value& one : trace.is(io::ValueKind::Array) ? trace.items() : std::vector{trace})
    files.push_back(io::relative_to(trace.where().file, io::string_of(one, "trace")));
  if (files.empty()) throw InputError(trace.where(), "trace names no file; name one for each rank");
  Request request;
  request.file = files.front();
  request.other_files.assign(files.begin() + 1, files.end());
  if (!is_trace_input(request))
    throw InputError(trace.where(), fmt::format("{} is no trace", shortened(files.front(), 200)));
  return seconds_of_steps(read_trace_input(request).timeline, trace);
}

double seconds_of(const io::Section& section) {
  const io::Value* step = section.find("step");
  const io::Value* trace = section.find("trace");
  if ((step == nullptr) == (trace == nullptr))
    throw InputError(section.where(),
                     "a measured run has either the time of a step, \"step\": \"15.9s\", or a \"trace\"");
  double out = 0;
  if (trace != nullptr) return seconds_of_trace(*trace);
  section.seconds("step", out);
  if (!(out > 0)) throw InputError(step->where(), fmt::format("step is {}; a step takes time", step->text()));
  return out;
}

/// "none", "selective", .. "full", "2 layers".
void read_recompute(const io::Section& section, ParallelLayout& out) {
  std::string text = "none";
  section.text("recompute", text);
  const auto choice = std::ranges::find(kRecomputeChoices, text, &RecomputeChoice::word);
  if (choice != kRecomputeChoices.end()) {
    out.recompute = static_cast<std::uint8_t>(choice - kRecomputeChoices.begin());
    return;
  }
  int layers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layers);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || layers < 1 || (rest != " layer" && rest != " layers")) {
    std::string words;
    for (const RecomputeChoice& one : kRecomputeChoices) words += fmt::format("\"{}\", ", one.word);
    throw InputError(
        section.find("recompute")->where(),
        fmt::format("recompute is \"{}\"; allowed are {}and \"2 layers\"", shortened(text, 64), words));
  }
  out.recompute = kRecomputeChoices.size() - 1;
  out.layers_again = layers;
}

void read_order(const io::Section& section, ParallelLayout& out) {
  std::string name = out.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  section.text("schedule", name);
  const io::Value* given = section.find("schedule");
  out.order = schedules::find(name, given != nullptr ? given->where() : section.where()).generator->name;
}

void read_batch(const io::Section& section, int global_batch, ParallelLayout& out) {
  const int samples = out.data * out.micro_batch;
  if (section.find("microbatches") == nullptr && global_batch % samples != 0)
    throw InputError(section.where(),
                     fmt::format("the global batch of {} is no multiple of dp {} times micro_batch {}; give "
                                 "microbatches",
                                 global_batch, out.data, out.micro_batch));
  out.microbatches = number_in(section, "microbatches", std::max(1, global_batch / samples));
}

std::vector<int> layers_in(const io::Section& section, int stages) {
  std::vector<int> out;
  const io::Value* value = section.find("layers");
  if (value == nullptr) return out;
  for (const io::Value& one : io::array_of(*value, "layers", "an array of the layers of each stage"))
    out.push_back(static_cast<int>(std::min<std::int64_t>(io::size_of(one, "layers"), kMaxIndex)));
  if (static_cast<int>(out.size()) != stages)
    throw InputError(value->where(),
                     fmt::format("layers has {} numbers; pp times chunks are {} stages", out.size(), stages));
  return out;
}

/// How devices are numbered, as the base says where the run does not. Experts that tensor ranks cut are refused.
void read_mesh(const io::Section& section, DeviceOrder usual, ParallelLayout& out) {
  std::string text(name_of(usual));
  section.text("order", text);
  const auto* const found = std::ranges::find(kDeviceOrders, text);
  if (found == std::end(kDeviceOrders))
    throw InputError(
        section.find("order")->where(),
        fmt::format("order is \"{}\"; allowed are {}", shortened(text, 64), fmt::join(kDeviceOrders, ", ")));
  out.devices = static_cast<DeviceOrder>(found - std::begin(kDeviceOrders));
  if (number_in(section, "etp", 1) != 1)
    throw InputError(section.find("etp")->where(),
                     "etp is not 1; layouts whose experts tensor ranks cut have no forecast");
}

MeasuredLayout read_run(const io::Value& value, const MeasuredOf& of) {
  const auto& [devices, global_batch, order] = of;
  const io::Section section(
      value, "",
      {"step", "trace", "tp", "cp", "ep", "etp", "pp", "dp", "zero", "shards", "micro_batch", "microbatches",
       "chunks", "schedule", "recompute", "order", "layers"});
  MeasuredLayout out;
  out.where = value.where();
  ParallelLayout& layout = out.layout;
  layout.tensor = number_in(section, "tp", 1);
  layout.context = number_in(section, "cp", 1);
  layout.expert = number_in(section, "ep", 1);
  layout.pipeline = number_in(section, "pp", 1);
  const std::int64_t replica = std::int64_t{layout.tensor} * layout.context * layout.pipeline;
  if (section.find("dp") == nullptr && devices % replica != 0)
    throw InputError(section.where(),
                     fmt::format("{} devices are no multiple of tp {} times cp {} times pp {}; give dp",
                                 devices, layout.tensor, layout.context, layout.pipeline));
  layout.data = number_in(section, "dp", static_cast<int>(std::max<std::int64_t>(1, devices / replica)));
  layout.zero = number_in(section, "zero", 1, 0);
  layout.shards = number_in(section, "shards", 0);
  layout.micro_batch = number_in(section, "micro_batch", 1);
  layout.chunks = number_in(section, "chunks", 1);
  read_batch(section, global_batch, layout);
  read_recompute(section, layout);
  read_mesh(section, order, layout);
  read_order(section, layout);
  out.layers = layers_in(section, layout.pipeline * layout.chunks);
  out.seconds = seconds_of(section);
  return out;
}

/// The search for the terms.
class Fit {
 public:
  Fit(const io::Config& base, const std::vector<MeasuredLayout>& runs, const std::function<bool()>& go_on)
      : base_(base), runs_(runs), go_on_(go_on) {
    for (const auto& named : kExchangeNames)
      if (std::ranges::any_of(runs,
                              [&](const MeasuredLayout& run) { return size_of(run, named.second) > 1; }))
        kinds_.push_back({named.second});
    if (runs.size() <= kinds_.size() && kinds_.size() > 1) {
      for (std::size_t i = 1; i < kinds_.size(); ++i) kinds_.front().push_back(kinds_[i].front());
      kinds_.resize(1);
    }
  }

  FittedForecast run() {
    FittedTerms terms = runs_.size() == 1 ? of_one() : of_more();
    if (terms.compute > kMostFactor || terms.compute < 1 / kMostFactor) refuse();
    FittedForecast out{terms, {}, {}};
    for (const Kinds& kinds : kinds_) out.told.insert(out.told.end(), kinds.begin(), kinds.end());
    for (const MeasuredLayout& run : runs_)
      out.runs.push_back({run, forecast(run, FittedTerms()), forecast(run, terms)});
    return out;
  }

 private:
  using Kinds = std::vector<model::Group>;  // that have one share

  static int size_of(const MeasuredLayout& run, model::Group group) {
    switch (group) {
      case model::Group::Tensor:
        return run.layout.tensor;
      case model::Group::Context:
        return run.layout.context;
      case model::Group::Expert:
        return run.layout.expert;
      default:
        return 1;
    }
  }
  static void set(FittedTerms& terms, const Kinds& kinds, double hidden) {
    for (const model::Group group : kinds) terms.hidden[static_cast<std::size_t>(group)] = hidden;
  }

  [[nodiscard]] double forecast(const MeasuredLayout& run, const FittedTerms& terms) const {
    if (go_on_ && !go_on_()) throw Stopped();
    try {
      const io::Config config = config_of(with_terms(base_, terms), run.layout, run.layers);
      const Run found = totals_of(config, {}, Depth::Metrics);
      return static_cast<double>(found.metrics->step_time) / static_cast<double>(ticks_per(TimeUnit::Second));
    } catch (const InputError& error) {
      throw InputError(run.where, error.what());
    }
  }
  /// Mean of log(forecast / step).
  [[nodiscard]] double excess(const FittedTerms& terms) const {
    double sum = 0;
    for (const MeasuredLayout& run : runs_) sum += std::log(forecast(run, terms) / run.seconds);
    return sum / static_cast<double>(runs_.size());
  }
  [[nodiscard]] double squares(const FittedTerms& terms) const {
    double sum = 0;
    for (const MeasuredLayout& run : runs_) sum += std::pow(std::log(forecast(run, terms) / run.seconds), 2);
    return sum;
  }

  /// The factor that takes the mean excess away: steps are nearly linear in it, so that few tries are enough.
  [[nodiscard]] FittedTerms with_factor(FittedTerms terms) const {
    constexpr int kTries = 20;
    constexpr double kNear = 1e-7;
    for (int i = 0; i < kTries; ++i) {
      const double over = excess(terms);
      if (std::abs(over) < kNear) break;
      terms.compute = std::clamp(terms.compute * std::exp(-over), 0.01, 100.0);
    }
    return terms;
  }

  /// More hidden is a shorter step: the share by halving, the factor where the step is outside.
  [[nodiscard]] FittedTerms of_one() const {
    FittedTerms none;
    if (kinds_.empty() || excess(none) <= 0) return with_factor(none);
    FittedTerms all;
    set(all, kinds_.front(), 1);
    if (excess(all) >= 0) return with_factor(all);
    double low = 0;
    double high = 1;
    constexpr int kHalvings = 12;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      set(all, kinds_.front(), middle);
      (excess(all) > 0 ? low : high) = middle;
    }
    set(all, kinds_.front(), std::round(100 * low) / 100);
    return all;
  }

  [[nodiscard]] FittedTerms of_more() const {
    FittedTerms best = with_factor({});
    double least = squares(best);
    const auto try_share = [&](const Kinds& kinds, double hidden) {
      FittedTerms terms = best;
      set(terms, kinds, hidden);
      terms = with_factor(terms);
      const double sum = squares(terms);
      if (sum < least) {
        least = sum;
        best = terms;
      }
    };
    constexpr int kMostRounds = 8;
    double before = -1;
    for (int round = 0; round < kMostRounds && least != before; ++round) {
      before = least;
      for (const Kinds& kinds : kinds_) {
        for (int tenth = 0; tenth <= 10; ++tenth) try_share(kinds, tenth / 10.0);
        const double middle = best.hidden[static_cast<std::size_t>(kinds.front())];
        for (int hundredth = -9; hundredth <= 9; ++hundredth)
          if (const double hidden = middle + hundredth / 100.0; hidden >= 0 && hidden <= 1)
            try_share(kinds, std::round(100 * hidden) / 100);
      }
    }
    return best;
  }

  [[noreturn]] void refuse() const {
    const MeasuredLayout& run = runs_.front();
    throw InputError(
        Where{"--measured"},
        fmt::format(
            "{} took {} a step, and the forecast is {}: no factor between 1/4 and 4 explains that; is "
            "it the same model, device, batch and sequence?",
            split_text(run.layout), seconds_text(run.seconds), seconds_text(forecast(run, {}))));
  }
  static std::string seconds_text(double seconds) { return fmt::format("{:.4g} s", seconds); }

  const io::Config& base_;
  const std::vector<MeasuredLayout>& runs_;
  const std::function<bool()>& go_on_;
  std::vector<Kinds> kinds_;
};

Scale scale_of(double number) {
  return static_cast<Scale>(std::llround(number * static_cast<double>(kUnitScale)));
}

}  // namespace

std::vector<MeasuredLayout> read_measured(const std::string& file, const MeasuredOf& of) {
  const io::Document document = io::Document::parse(io::read_file(file), file);
  const io::Value& root = document.root();
  const std::vector<io::Value> runs =
      root.is(io::ValueKind::Array) ? root.items() : std::vector<io::Value>{root};
  if (runs.empty() || runs.size() > kMostRuns)
    throw InputError(root.where(),
                     fmt::format("the file has {} runs; allowed are 1 to {}", runs.size(), kMostRuns));
  std::vector<MeasuredLayout> out;
  for (const io::Value& run : runs) out.push_back(read_run(run, of));
  return out;
}

FittedForecast fit_forecast(const io::Config& base, const std::vector<MeasuredLayout>& runs,
                            const std::function<bool()>& go_on) {
  return Fit(base, runs, go_on).run();
}

io::Config with_terms(io::Config base, const FittedTerms& terms) {
  cost::ModelSpec& spec = base.costs.model;
  const auto hidden = [&](model::Group group) {
    return std::optional(scale_of(terms.hidden[static_cast<std::size_t>(group)]));
  };
  spec.hidden_tensor = hidden(model::Group::Tensor);
  spec.hidden_context = hidden(model::Group::Context);
  spec.hidden_expert = hidden(model::Group::Expert);
  spec.compute_scale = scale_of(terms.compute);
  for (const char* key : {"costs.hidden.tp", "costs.hidden.cp", "costs.hidden.ep", "costs.compute_scale"})
    io::mark_given(base, key);
  return base;
}

}  // namespace pipeloom::study
