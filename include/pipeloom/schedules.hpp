#pragma once

// Published schedules by name: their requirements, their reasons to refuse parameters, and their orders.
//
//   Params params{.ranks = 4, .microbatches = 8};
//   Schedule schedule = make_schedule("1f1b", params);

#include <algorithm>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

/// Options that a schedule must know to be given them. Recomputation, offloading and forward-only runs are for all schedules.
enum class Option : std::uint8_t { GroupSize, Slices, Waves, Updates, Variant, MemoryLimit, File };

/// A set of these options: those that a schedule takes.
class OptionSet {
 public:
  constexpr OptionSet() = default;
  constexpr OptionSet(std::initializer_list<Option> options) {
    for (const Option option : options) bits_ |= bit(option);
  }
  [[nodiscard]] constexpr bool has(Option option) const { return (bits_ & bit(option)) != 0; }

 private:
  static constexpr unsigned bit(Option option) { return 1U << static_cast<unsigned>(option); }
  unsigned bits_ = 0;
};

/// "memory_limit": the activations that a rank may hold, for schedules whose order keeps a limit. At most one is given.
struct MemoryLimit {
  std::optional<Bytes> bytes = {};
  std::optional<Scale> microbatches = {};  ///< in units of 1e-9 of one microbatch's activations
  [[nodiscard]] bool given() const { return bytes || microbatches; }
  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

/// "group_size": how many microbatches the interleaved schedules take in a row for one chunk.
class GroupSize {
 public:
  /// N for every group; the last may be short.
  GroupSize(int each) : largest_(each) {}  // NOLINT: a number is a group size
  /// One for each group, first to last; their sum is m. REQUIRES: at least one.
  GroupSize(std::vector<int> sizes)  // NOLINT: so is a list of them
      : largest_(*std::max_element(sizes.begin(), sizes.end())), sizes_(std::move(sizes)) {}

  /// N, or the largest of a list: the size that the warm-up has to cover.
  [[nodiscard]] int largest() const { return largest_; }
  [[nodiscard]] bool is_list() const { return !sizes_.empty(); }
  /// Empty for a number.
  [[nodiscard]] const std::vector<int>& sizes() const { return sizes_; }
  /// The equivalent number: of 5, 5, 3 it is 5; nullopt if only a list gives the same groups.
  [[nodiscard]] std::optional<int> number() const {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i] > sizes_.front() || (sizes_[i] < sizes_.front() && i + 1 < sizes_.size()))
        return std::nullopt;
    return largest_;
  }
  /// "5", or "[5, 4, 4]".
  [[nodiscard]] std::string text() const {
    if (!is_list()) return std::to_string(largest_);
    std::string out = "[";
    for (const int size : sizes_) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
    return out + "]";
  }
  friend bool operator==(const GroupSize&, const GroupSize&) = default;

 private:
  int largest_;
  std::vector<int> sizes_ = {};
};

/// Which layers of a stage run again where a number of them is given, as Megatron-LM's --recompute-method.
enum class RecomputeMethod : std::uint8_t {
  Block,    ///< the first ones, each by itself; the others keep their activations
  Uniform,  ///< all, in groups of that number, which keep the input of their first layer alone
};

/// "recompute": which forwards run again before their backward, whole or in parts.
struct RecomputeOption {
  bool on = false;
  int keep = 0;                  ///< number of a rank's outstanding passes that keep their activations
  std::vector<int> stages = {};  ///< whose passes and modules run again, in order, each once; empty: all
  /// Modules of a layer that run again within the backward, separated by commas: "core_attention". Only costs.model knows their times and
  /// sizes; they have no op of their own.
  std::string modules = {};
  std::optional<int> layers =
      {};  ///< of a stage, as `method` says; no value: all, each by itself. Only costs.model knows layers.
  RecomputeMethod method = RecomputeMethod::Block;
  friend bool operator==(const RecomputeOption&, const RecomputeOption&) = default;
};

/// "offload": which activations go to the host meanwhile.
struct OffloadOption {
  bool on = false;
  std::optional<int> chunks;     ///< of each rank, the longest-lived first; no value: all
  int prefetch = 1;              ///< entries between the issue of a reload and its use
  int min_gap = 3;               ///< entries between forward and backward below which a pass stays
  std::vector<int> stages = {};  ///< whose activations may go, in order, each once; empty: all
  friend bool operator==(const OffloadOption&, const OffloadOption&) = default;
};

/// An option without a value has the schedule's default.
struct ScheduleOptions {
  std::optional<GroupSize> group_size = {};
  std::vector<std::int64_t> slices = {};  ///< weight of every piece of a microbatch's sequence
  std::optional<int> waves = {};          ///< W of hanayo
  std::optional<int> updates = {};        ///< optimizer updates in one endless run
  std::string variant = {};
  MemoryLimit memory_limit = {};
  std::string file = {};  ///< of `custom`, as given; relative to the configuration's folder
  RecomputeOption recompute = {};
  OffloadOption offload = {};
  bool forward_only = false;  ///< drop everything but the forwards
  friend bool operator==(const ScheduleOptions&, const ScheduleOptions&) = default;
};

/// Costs::slice_end and MemoryModel::slice_end of these options: cumulative weights, from 0 to their sum, equal ones where none are given;
/// empty for whole sequences.
[[nodiscard]] std::vector<std::int64_t> slice_ends(const ScheduleOptions& options, int slices);

/// The weights of n equal slices.
[[nodiscard]] inline std::vector<std::int64_t> equal_slices(int n) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(n), 1);
}

/// Parameters of a schedule, as a user asks for it. m counts all microbatches, both directions together; replicas are not
/// chunks.
struct Params {
  int ranks = 4;         ///< p
  int microbatches = 8;  ///< m
  int chunks = 1;        ///< v, stages per rank and replica; S = p v
  /// Options that only some schedules take. Without a group size the schedule's (or alias's) default holds, without a variant the first of
  /// Requirements::variants, without a limit that of the terms (activation_limits). The file and the changes of the finished queues
  /// (recomputation, offloading) mean nothing to a generator.
  ScheduleOptions options = {};

  /// n, pieces of a microbatch's sequence; 1 for a whole one.
  [[nodiscard]] int slices() const {
    return options.slices.empty() ? 1 : static_cast<int>(options.slices.size());
  }
  /// Optimizer updates in one endless run; m counts the microbatches of one of them.
  [[nodiscard]] int updates() const { return options.updates.value_or(1); }
  friend bool operator==(const Params&, const Params&) = default;
};

/// Requirements of a schedule, as data, so that the command line, the window and error texts explain them alike. refusal() checks them,
/// and names the one that is broken.
struct Requirements {
  int min_ranks = 1;
  bool even_ranks = false;
  /// Legal v: min_chunks..max_chunks, exactly one if they are equal; kMaxIndex means any number.
  int min_chunks = 1;
  int max_chunks = 1;
  int default_chunks = 1;
  std::string chunks_text = {};  ///< for people, where these numbers do not express it: "two per wave"
  bool even_microbatches = false;
  /// "m >= 2 p" and the like: m must be at least min_microbatches_per_rank * p + min_microbatches_offset (and
  /// 1).
  int min_microbatches_per_rank = 0;
  int min_microbatches_offset = 1;
  bool splits_backward = false;  ///< emits I and W
  bool overlaps = false;         ///< emits groups
  bool bidirectional = false;    ///< two model replicas
  bool shares_output = false;    ///< emits S and T
  bool output_makes_gradient =
      false;  ///< S makes the gradient of the output layer's input too, T only that of the weights
  /// `Option::Variant` follows from `variants`.
  OptionSet takes = {};
  int default_slices = 1;  ///< Params::slices() without options.slices
  int default_updates = 1;
  /// Text for people: the memory limit of such a schedule where neither options.memory_limit nor MemoryModel::limit gives one.
  std::string default_memory_limit = "ranks microbatches";
  /// The order depends on the times and sizes of ops: other costs make another schedule.
  bool needs_terms = false;
  /// The search for the order takes seconds: tables and tests over every schedule look at small ones only.
  bool slow_search = false;
  /// True if options.group_size may only be a number, no list.
  bool equal_groups = false;
  /// Legal Params::variant, the default first; empty if the schedule has none.
  std::vector<std::string> variants = {};
  /// Default v of each of them where that is not default_chunks; else empty.
  std::vector<int> variant_chunks = {};
  /// In words, for people: "even p, m >= 2p, m even".
  std::string text = {};
};

/// Thrown where the caller of a function that makes a schedule, or computes from one, cancels it: Emission::progress returned false.
class Stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "it was stopped before its end"; }
};

/// A schedule that make_schedule() knows.
struct ScheduleInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;      ///< one line
  std::string source;       ///< paper or program, with section
  std::string when_to_use;  ///< one or two sentences
  Requirements requirements;
};
/// All of them, in the order of `pipeloom schedule`.
[[nodiscard]] const std::vector<ScheduleInfo>& all_schedules();

// `name` is a schedule's name or alias in the following: first as spelt (case ignored), then with '-' and '_' ignored where that is
// unique. An alias may bring its framework's defaults. All throw InputError for names of no schedule, suggesting the nearest.

/// The parameters with the missing ones filled in: an alias's defaults, and `chunks` where `chunks_given` is false.
[[nodiscard]] Params complete_params(std::string_view name, Params params, bool chunks_given = true);

/// Why these parameters are refused, with the nearest legal values of the offending one; "" if they are not.
[[nodiscard]] std::string refusal(std::string_view name, const Params& params);

/// The placement of the stages. Throws ScheduleError with refusal()'s text.
[[nodiscard]] Placement placement_of(std::string_view name, const Params& params);

/// The order of every rank's ops, with recomputation, offloading or the forwards alone where the options ask for them. `terms` are those of
/// placement_of(name, params): schedules with Requirements::needs_terms find their order for them; null means default_costs() and
/// default_memory(). Throws ScheduleError with refusal()'s text, or if no order keeps the limit; InputError for options.file, and
/// for stages of recomputation or offloading that the run does not have.
[[nodiscard]] Schedule make_schedule(std::string_view name, const Params& params,
                                     const Terms* terms = nullptr);

}  // namespace pipeloom
