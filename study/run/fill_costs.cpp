#include "study/run/fill_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "study/run/make_schedule.hpp"

namespace pipeloom::study {
namespace {

using estimate::Category;
using model::Pass;

/// Ticks of a pass, of any stage.
auto ticks_of(Pass pass) {
  return [pass](const estimate::Stage& stage) { return stage.ticks[static_cast<std::size_t>(pass)]; };
}
auto bytes_of(Category category) {
  return [category](const estimate::Stage& stage) { return stage.bytes.of(category); };
}

/// So many times a message's time two sends and two receives take in one group: between 1, where all go at the same time, and 2, where those of a way go
/// one after the other. Fitted to the zero-bubble paper's interleaved runs; either half of its models gives 1.4 to 1.6.
constexpr double kGroupTime = 1.5;

/// Fills in the values that the input leaves open, with their origins.
class Filler {
 public:
  Filler(ModelCosts& out, const Placement& placement) : out_(out), placement_(placement) {
    const hardware::Hardware* device = out.setting.hardware.get();
    whose_ = fmt::format("estimate: {}{}{}", out.setting.model->name, device != nullptr ? " on " : "",
                         device != nullptr ? device->name : "");
  }

  void fill() {
    fill_durations();
    fill_microbatches();
    fill_transfers();
    if (!out_.estimate.has_bytes) return;
    share_buffers();
    fill_memory();
    if (out_.setting.offloads && out_.estimate.host.bits_per_second > 0) fill_copies();
    if (out_.setting.hardware != nullptr && !out_.config.options.forward_only) fill_step_end();
  }

 private:
  [[nodiscard]] bool is_given(std::string_view path) const { return out_.config.given.has(path); }
  void say(std::string path) { out_.origins.emplace_back(std::move(path), whose_); }

  template <class Number>
  cost::StageNumbers per_stage(const std::string& key, const Number& number) {
    cost::StageNumbers out;
    out.form = cost::StageNumbers::Form::Array;
    for (const estimate::Stage& stage : out_.estimate.stages) out.array.push_back(number(stage));
    out.where = out_.config.place_of("costs.model");
    out.key = key;
    say(key);
    return out;
  }

  template <class Number>
  void fill_duration(OpKind kind, const std::string& key, const Number& number) {
    auto& duration = out_.config.costs.duration[index_of(kind)];
    if (!duration) duration = per_stage(key, number);
  }
  /// The halves of a stated backward follow from it; else B follows from both halves.
  void fill_durations() {
    if (shares_head(out_.setting)) {
      fill_duration(OpKind::Output, "costs.output",
                    [](const estimate::Stage& stage) { return stage.output_ticks; });
      fill_duration(OpKind::OutputWeight, "costs.output_weight",
                    [](const estimate::Stage& stage) { return stage.output_weight_ticks; });
    }
    fill_duration(OpKind::Forward, "costs.forward", ticks_of(Pass::Forward));
    if (!is_given("costs.backward")) {
      fill_duration(OpKind::BackwardInput, "costs.backward_input", ticks_of(Pass::BackwardInput));
      fill_duration(OpKind::BackwardWeight, "costs.backward_weight", ticks_of(Pass::BackwardWeight));
    }
    if (recomputes_all(out_.setting))
      fill_duration(OpKind::Recompute, "costs.recompute",
                    [](const estimate::Stage& stage) { return stage.recomputed_ticks; });
  }

  /// Times of stages are those of the first microbatch's documents; the whole model says how much longer the other microbatches take.
  void fill_microbatches() {
    const cost::DocumentLists& documents = out_.config.costs.model.documents;
    if (!documents.per_microbatch || is_given("costs.microbatch_scale")) return;
    std::map<std::vector<std::int32_t>, double> seconds;
    const auto seconds_of = [&](const std::vector<std::int32_t>& list) {
      const auto [at, is_new] = seconds.emplace(list, 0.0);
      if (is_new) at->second = work_with(list);
      return at->second;
    };
    const double first = seconds_of(documents.lists.front());
    cost::ScaleSpec& scale = out_.config.costs.microbatch_scale;
    for (const std::vector<std::int32_t>& list : documents.lists)
      scale.array.push_back(std::llround(seconds_of(list) / first * static_cast<double>(kUnitScale)));
    scale.where = documents.where;
    say("costs.microbatch_scale");
  }
  /// Ticks of F, I, W, S and T of all stages for a microbatch of such documents.
  [[nodiscard]] double work_with(const std::vector<std::int32_t>& documents) const {
    estimate::Setting setting = out_.setting;
    setting.split.documents.assign(documents.begin(), documents.end());
    const estimate::Estimate found = estimate::estimate(setting, out_.config.costs.layers.counts);
    double sum = 0;
    for (const estimate::Stage& stage : found.stages) {
      for (const Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
        sum += static_cast<double>(ticks_of(pass)(stage));
      sum += static_cast<double>(stage.output_ticks + stage.output_weight_ticks);
    }
    return sum;
  }

  /// True if the input says anything about the speed of messages.
  [[nodiscard]] bool states_links() const {
    const cost::TransferSpec& transfer = out_.config.costs.transfer;
    return transfer.link.latency || transfer.link.bits_per_second || transfer.ranks_per_node ||
           transfer.has_links() || is_given("costs.transfer.rank_time");
  }
  /// True if any of its links has a bandwidth, so that bytes take time.
  [[nodiscard]] bool has_rates() const {
    const cost::TransferSpec& transfer = out_.config.costs.transfer;
    const auto has_rate = [](const auto& exception) { return exception.link.bits_per_second.has_value(); };
    return transfer.link.bits_per_second || transfer.intra.bits_per_second ||
           transfer.inter.bits_per_second || !transfer.matrix.bits_per_second.empty() ||
           std::any_of(transfer.links.begin(), transfer.links.end(), has_rate);
  }
  void fill_transfers() {
    const estimate::Estimate& estimate = out_.estimate;
    cost::TransferSpec& transfer = out_.config.costs.transfer;
    if (estimate.message == 0) return;
    if (!states_links() && transfer.model == cost::TransferModel::Latency) return fill_rank_time(transfer);
    if (!is_given("costs.transfer.bytes") && (!states_links() || has_rates())) {
      transfer.bytes = estimate.message;
      say("costs.transfer.bytes");
    }
    if (states_links()) return;
    if (estimate.ranks_per_node == 1) return fill_link("costs.transfer", estimate.between, transfer.link);
    transfer.ranks_per_node = estimate.ranks_per_node;
    say("costs.transfer.ranks_per_node");
    fill_link("costs.transfer.intra", estimate.within, transfer.intra);
    fill_link("costs.transfer.inter", estimate.between, transfer.inter);
  }
  void fill_link(const std::string& path, const estimate::Hop& hop, cost::LinkSpec& link) {
    link.latency = hop.latency;
    say(path + ".latency");
    link.bits_per_second = hop.bits_per_second;
    say(path + ".bandwidth_gbps");
  }
  /// Orders from a file have no name, and so no framework.
  [[nodiscard]] bool is_named() const {
    return !out_.config.schedule.empty() && out_.config.schedule != io::kCustomSchedule;
  }
  /// Messages that a hop has for one microbatch: one for each slice of its sequence.
  [[nodiscard]] int messages_per_hop() const {
    const io::Config& config = out_.config;
    if (!config.options.slices.empty()) return static_cast<int>(config.options.slices.size());
    if (!is_named()) return 1;
    return schedules::find(config.schedule, config.place_of("schedule"))
        .generator->requirements.default_slices;
  }
  /// True if the schedule's framework exchanges messages of both ways in one group.
  [[nodiscard]] bool groups_both_ways() const {
    const io::Config& config = out_.config;
    if (!is_named() || is_given("costs.transfer.model")) return false;
    const schedules::Found found = schedules::find(config.schedule, config.place_of("schedule"));
    const auto& asked = found.generator->groups_both_ways;
    return asked && asked(params_of(config, found));
  }
  /// The buffer that messages are received into is as large as one of them.
  void share_buffers() {
    const Bytes messages = messages_per_hop();
    for (estimate::Stage& stage : out_.estimate.stages) {
      Bytes& bytes = stage.bytes.of(Category::Buffers);
      bytes = (bytes + messages - 1) / messages;
    }
  }
  /// A framework that waits for its messages keeps the sender's and the receiver's lane for half of their time each: so two neighbours wait
  /// as long as the message takes. Four in one group take the time of kGroupTime together. Mean over the hops of the pipeline.
  void fill_rank_time(cost::TransferSpec& transfer) {
    const estimate::Estimate& estimate = out_.estimate;
    const int hops = placement_.ranks() - 1;
    if (hops == 0) return;
    const int between = hops / estimate.ranks_per_node;
    const double bytes = static_cast<double>(estimate.message) / messages_per_hop();
    const auto of = [&](const estimate::Hop& hop) {
      return static_cast<double>(hop.latency) + 8e12 * bytes / static_cast<double>(hop.bits_per_second);
    };
    const double mean = (of(estimate.between) * between + of(estimate.within) * (hops - between)) / hops;
    const bool grouped = groups_both_ways();
    transfer.rank_time = std::llround(mean * (grouped ? kGroupTime / 4 : 0.5) / 1000) * 1000;
    out_.origins.emplace_back(
        "costs.transfer.rank_time",
        fmt::format("{}: {} of {} bytes, waited for", whose_,
                    grouped ? "three eighths of a message, of which four go together," : "half of a message",
                    std::llround(bytes)));
  }

  template <class Number>
  void fill_bytes(const std::string& key, cost::StageNumbers& member, const Number& number) {
    if (!is_given(key)) member = per_stage(key, number);
  }
  void fill_memory() {
    cost::MemorySpec& memory = out_.config.memory;
    const bool states_activations = is_given("memory.activation_bytes");
    fill_bytes("memory.activation_bytes", memory.activation, [](const estimate::Stage& stage) {
      return stage.bytes.of(Category::UntilInput) + stage.bytes.of(Category::UntilWeight);
    });
    if (!states_activations)
      fill_bytes("memory.released_at_input", memory.released_at_input, bytes_of(Category::UntilInput));
    else
      take_activations(memory);
    fill_bytes("memory.static_bytes", memory.static_bytes,
               [](const estimate::Stage& stage) { return stage.bytes.fixed(); });
    fill_bytes("memory.logits_bytes", memory.logits, bytes_of(Category::Logits));
    if (recomputes_all(out_.setting))
      fill_bytes("memory.stash_bytes", memory.stash,
                 [](const estimate::Stage& stage) { return stage.stash; });
    fill_limit(memory);
  }
  /// Stages hold the activations that the input states.
  void take_activations(const cost::MemorySpec& memory) {
    const auto stages = static_cast<int>(out_.estimate.stages.size());
    const std::vector<Bytes> all = cost::expand(memory.activation, stages);
    const std::vector<Bytes> early = cost::expand(memory.released_at_input, stages);
    for (std::size_t s = 0; s < all.size(); ++s) {
      out_.estimate.stages[s].bytes.of(Category::UntilInput) = early[s];
      out_.estimate.stages[s].bytes.of(Category::UntilWeight) = all[s] - early[s];
    }
  }
  /// A copy moves the bytes that the forward holds: its stash where all of a stage's forwards run again, else its activations. Loading takes as long.
  void fill_copies() {
    fill_duration(OpKind::Offload, "costs.offload", [this](const estimate::Stage& stage) {
      const bool stashed = stage.stash > 0 && !out_.setting.keeps_some;
      const Bytes kept = stage.bytes.of(Category::UntilInput) + stage.bytes.of(Category::UntilWeight);
      return time_of(out_.estimate.host, stashed ? stage.stash : kept);
    });
  }
  void fill_limit(cost::MemorySpec& memory) {
    if (is_given("memory.limit_bytes") || out_.setting.hardware == nullptr) return;
    memory.limit = cost::LimitSpec{.per_rank = false,
                                   .bytes = {std::llround(out_.setting.hardware->memory_bytes)},
                                   .where = out_.config.place_of("costs.hardware")};
    say("memory.limit_bytes");
  }

  /// Fills in the step's end of the rank that takes longest: under the barrier all wait for it.
  void fill_step_end() {
    for (int r = 0; r < placement_.ranks(); ++r) {
      std::vector<const estimate::Stage*> stages;
      for (const Stage stage : placement_.stages_of(Rank(r)))
        stages.push_back(&out_.estimate.stages[stage.at()]);
      const estimate::StepEnd end = estimate::step_end(out_.setting, stages);
      if (end.seconds() > out_.step_end.seconds()) out_.step_end = end;
    }
    if (is_given("step.optimizer")) return;
    out_.config.step.optimizer = std::llround(out_.step_end.seconds() * 1e9) * 1000;
    out_.origins.emplace_back("step.optimizer",
                              fmt::format("{}: reduction {:.3f} ms, optimizer {:.3f} ms", whose_,
                                          out_.step_end.reduction * 1e3, out_.step_end.optimizer * 1e3));
  }

  ModelCosts& out_;
  const Placement& placement_;
  std::string whose_;
};

}  // namespace

void fill_costs(ModelCosts& out, const Placement& placement) {
  Filler(out, placement).fill();
}

}  // namespace pipeloom::study
