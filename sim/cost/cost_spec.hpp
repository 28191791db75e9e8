#pragma once

// Costs as users state them: numbers, arrays and tables with their places, before any schedule is known.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/device_order.hpp"

namespace pipeloom::cost {

/// One number for all stages, one per stage, or a default with exceptions.
///
/// `numbers` are ticks or bytes. Which stages exist is known only with the schedule, so array length and table keys are
/// checked by resolve().
struct StageNumbers {
  enum class Form : std::uint8_t { Scalar, Array, Table };
  struct Exception {
    std::int32_t stage = 0;
    std::int64_t number = 0;
    Where where;
  };
  Form form = Form::Scalar;
  std::int64_t scalar = 0;               ///< Scalar: the number
  bool has_unit = false;                 ///< Scalar: it was stated with its unit, "80GB"
  std::vector<std::int64_t> array;       ///< Array
  std::optional<std::int64_t> fallback;  ///< Table: its "default"
  std::vector<Exception> exceptions;     ///< Table: its "stages"
  Where where;
  std::string key;  ///< "costs.forward": for error texts

  /// The same number on every stage.
  static StageNumbers all(std::int64_t number, std::string key) {
    StageNumbers numbers;
    numbers.scalar = number;
    numbers.key = std::move(key);
    return numbers;
  }
};

/// True if both hold the same numbers, wherever they were written.
[[nodiscard]] bool same_numbers(const StageNumbers& a, const StageNumbers& b);

/// The numbers spread over stages 0..S-1 as they are. Throws InputError naming both lengths, or the stage that does not exist.
[[nodiscard]] std::vector<std::int64_t> expand(const StageNumbers& numbers, int stages);

/// The part of the model that a duration is for: one chunk pass, all of a rank's stages, or the whole model.
enum class Per : std::uint8_t { Stage, Rank, Model };
/// "stage", "rank", "model".
[[nodiscard]] std::string_view name_of(Per per);

enum class FirstStage : std::uint8_t {
  Full,   ///< I and W as on every stage
  Torch,  ///< as PyTorch has it: nothing in I, I and W in W
};

struct OverlapSpec {
  OverlapRule rule = OverlapRule::Sum;
  StageNumbers duration = {};  ///< Explicit: by the stage of the group's forward
  /// Explicit, instead: a row per stage of the group's forward, in it an entry per stage of its backward; per pass, whatever CostSpec::per.
  std::vector<std::vector<Ticks>> pairs = {};
  Where pairs_where = {};
  Scale factor = kUnitScale;  ///< Factor
  Ticks saving = 0;           ///< Saving
};

/// A hop's latency, and its bandwidth if tensors have a size.
struct LinkSpec {
  std::optional<Ticks> latency = {};
  /// Bits per second; bandwidth_gbps times 1e9.
  std::optional<std::int64_t> bits_per_second = {};
};

/// Links between two ranks that differ from the others; fields that one leaves out are as on the others.
struct LinkException {
  std::int32_t from = 0;
  std::int32_t to = 0;
  bool oneway = false;  ///< from `from` to `to` only
  LinkSpec link = {};
  std::optional<Bytes> bytes = {};
  Where where = {};
};

/// All links, by rank: [from][to]. The entries from a rank to itself have no meaning.
struct LinkMatrix {
  std::vector<std::vector<Ticks>> latency;
  std::vector<std::vector<std::int64_t>> bits_per_second;
  Where where;
  [[nodiscard]] bool empty() const { return latency.empty() && bits_per_second.empty(); }
};

/// Models of transfers (docs/model.md, section 3).
enum class TransferModel : std::uint8_t {
  Latency,   ///< arrive a delay after their producer; hidden
  Blocking,  ///< matched groups that both ranks wait for
  Async,     ///< issue and wait apart, messages queue
  Link,      ///< as Async, over engines and NICs that are shared
};
/// "latency", "blocking", "async", "link".
[[nodiscard]] std::string_view name_of(TransferModel model);

struct TransferSpec {
  TransferModel model = TransferModel::Latency;
  /// Queue discipline of P2P messages: "per-rank", "per-direction", "per-pair"; async and link read it.
  std::string queue = "per-pair";
  /// The program of sends, receives and waits that the schedule becomes: "auto", "step", "entry", "overlap", "overlap-flush", "at-sender",
  /// "before-use", "ahead". `plan_where` is its place in the input, for errors.
  std::string plan = "auto";
  Where plan_where;
  /// Entries by which "ahead" posts a receive before its use.
  std::int32_t ahead = 1;
  LinkSpec link;  ///< every hop between different ranks, unless intra or inter say otherwise
  Bytes bytes = 0;
  /// Rank r is on node r / ranks_per_node; needed by intra and inter.
  std::optional<std::int32_t> ranks_per_node;
  LinkSpec intra;  ///< hops within a node; fields that it leaves out come from `link`
  LinkSpec inter;  ///< hops between nodes
  /// Of several that name a link the last counts. They override the matrix, and both override all of the above.
  std::vector<LinkException> links;
  LinkMatrix matrix;
  Ticks rank_time = 0;  ///< time that each message takes of its sender's and its receiver's compute lane

  [[nodiscard]] bool has_links() const { return !links.empty() || !matrix.empty(); }
};

/// One row of costs.table or costs.exceptions: the ops that it names take this time, or their own times this factor; or the overlapped groups
/// of the forwards that it names take this time. An index that is not given names all.
struct CostRow {
  std::optional<OpKind> kind;
  std::optional<std::int32_t> rank;
  std::optional<std::int32_t> stage;
  std::optional<std::int32_t> microbatch;
  std::optional<std::int32_t> slice;
  bool is_factor = false;
  bool of_group = false;    ///< a time, of groups; the kind is F or not given
  std::int64_t number = 0;  ///< ticks, or a Scale
  Where where;
};
/// Rows that many specs share.
using CostRows = std::shared_ptr<const std::vector<CostRow>>;

/// Factors of `fallback` with exceptions. Which ranks, stages or microbatches exist is known only with the schedule.
struct ScaleTable {
  struct Exception {
    std::int32_t index = 0;
    Scale factor = kUnitScale;
    Where where;
  };
  Scale fallback = kUnitScale;
  std::vector<Exception> exceptions;
};

/// Factors as an array or as a table, in units of 1e-9; 1 for all where neither is given.
struct ScaleSpec {
  std::vector<Scale> array;
  std::optional<ScaleTable> table;
  Where where;
};

/// A whole number for each stage that costs were measured on. Empty: not given.
struct StageCounts {
  std::vector<std::int32_t> counts = {};
  Where where = {};
};

/// Lengths of the documents that are packed into a sample, whose attention stays inside each: one list for all microbatches, or one per
/// microbatch. Empty: a sample is one document.
struct DocumentLists {
  std::vector<std::vector<std::int32_t>> lists = {};
  bool per_microbatch = false;
  Where where = {};
};

/// When gradients are summed over the replicas.
enum class Reduction : std::uint8_t {
  Exposed,     ///< after the last backward
  Overlapped,  ///< after the last microbatch's backward, layer by layer
};

/// Sources of times and bytes where they are not stated: a model, a device, and how the one is spread over many of the other.
struct ModelSpec {
  std::string model;      ///< name of a preset, or a file; empty: none
  std::string hardware;   ///< likewise; empty: `model` has measured times of its own
  std::string precision;  ///< of the products: "bf16", "fp8", "mxfp8"; empty: the hardware's
  int tensor = 1;
  int data = 1;
  int context = 1;
  int expert = 1;
  DeviceOrder order = DeviceOrder::PipelineLast;
  std::optional<int> zero;    ///< 0 to 3; 1 if left out
  std::optional<int> shards;  ///< data ranks that share out; all if left out
  int gradient_bytes = 4;     ///< of a parameter
  int optimizer_bytes = 12;   ///< of a parameter: the weight's 32-bit copy and two moments
  std::string
      trainable;  ///< "all", "none" or parts between commas (kTrainableParts of sim/options.hpp); empty: all
  int adapter_rank = 0;         ///< of adapters beside the products that are frozen
  std::optional<int> sequence;  ///< tokens of a sample; the model's own if left out
  DocumentLists documents;
  int micro_batch = 1;              ///< samples of a microbatch
  std::optional<int> global_batch;  ///< samples of a step: microbatches x micro_batch x data
  bool sequence_parallel = true;    ///< parts that tensor ranks do not share are split by tokens over them
  bool flash = true;                ///< attention keeps no scores
  bool fused_experts =
      true;  ///< of experts' activation and weighting only the tensors that one kernel needs are kept
  Reduction reduction = Reduction::Exposed;
  std::optional<Scale> compute_scale;  ///< factor of the passes' times but collectives, in units of 1e-9
  std::optional<Scale> expert_load;    ///< tokens of the fullest expert rank over the mean, in units of 1e-9
  std::optional<Scale>
      hidden_collectives;  ///< share of the layers' collectives that products hide, in units of 1e-9
  /// The same of one kind of ranks, which counts for these in place of hidden_collectives; `hidden_data`: of the gradients' reduction.
  std::optional<Scale> hidden_tensor;
  std::optional<Scale> hidden_context;
  std::optional<Scale> hidden_expert;
  std::optional<Scale> hidden_data;
};

struct CostSpec {
  /// Source of everything that is left open below.
  ModelSpec model;
  TimeUnit unit = TimeUnit::Unit;
  Per per = Per::Stage;
  /// Decoder layers of the stages that the numbers below are of, and the rank that ran each (not given: stage s on rank s mod p). Where the
  /// schedule has other stages, the numbers are dealt out to them (sim/cost/deal.hpp).
  StageCounts layers;
  StageCounts stage_ranks;
  /// [kind]: F, B, I, W as far as they are given.
  std::array<std::optional<StageNumbers>, kOpKinds> duration;
  std::optional<OverlapSpec> overlap;
  /// Rows of costs.table, then those of costs.exceptions; of several that name an op the last counts. Null: none.
  CostRows table;
  CostRows exceptions;
  Ticks entry = 0;  ///< overhead of every entry
  std::optional<Noise> noise;
  Where noise_where;
  /// The backward halves of stage 0 where backwards are split: its input needs no gradient.
  FirstStage first_stage = FirstStage::Full;
  /// One factor per rank (unequal devices), stage and microbatch (packed sequences).
  ScaleSpec rank_scale;
  ScaleSpec stage_scale;
  ScaleSpec microbatch_scale;
  TransferSpec transfer;
  /// The place of the "costs" object, for errors about missing keys.
  Where where;
};

/// memory.limit_bytes: one number for every rank, or one per rank.
struct LimitSpec {
  bool per_rank = false;
  std::vector<Bytes> bytes;  ///< one, or [rank]
  Where where;
};

/// Memory as users state it, in bytes per stage.
struct MemorySpec {
  /// The part of the model that activation, released, static and stash are for. A message, the logits and the limit do not depend on it.
  Per per = Per::Stage;
  StageNumbers activation = StageNumbers::all(1, "memory.activation_bytes");
  StageNumbers released_at_input = StageNumbers::all(0, "memory.released_at_input");
  StageNumbers static_bytes = StageNumbers::all(0, "memory.static_bytes");
  StageNumbers receive = StageNumbers::all(0, "memory.receive_bytes");
  StageNumbers stash = StageNumbers::all(0, "memory.stash_bytes");
  /// Only the last stage's counts.
  StageNumbers logits = StageNumbers::all(0, "memory.logits_bytes");
  std::optional<LimitSpec> limit;

  /// True if activations have a size. One of 1 without a unit is none: it counts activations, as leaving it out does.
  [[nodiscard]] bool has_sizes() const {
    return activation.form != StageNumbers::Form::Scalar || activation.has_unit || activation.scalar != 1;
  }
};
/// True if both hold the same values, wherever they were written; `limit` apart.
[[nodiscard]] bool same_memory(const MemorySpec& a, const MemorySpec& b);

}  // namespace pipeloom::cost
