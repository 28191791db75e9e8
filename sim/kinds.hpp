#pragma once

// The kinds of ops, a row each: letter and words, its input and output, what it allocates and frees, where it may
// be in a queue, its default cost. Checks, engines, readers, pictures and executors read the row; code that does something else
// for a kind (a layer's products, a schedule's order) names the kind.
//
// Loops over ops do not read rows, which are long: they read the masks of sim/kinds.hpp, or arrays [kind] that are made before the loop.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <pipeloom/op.hpp>

namespace pipeloom {

/// The stream of a rank that runs an op: its queue, or the copies beside it.
enum class Lane : std::uint8_t { Work, Copies };

/// Tensors that ops hand to each other. The last two are sums over the shares of an output layer that all stages hold: every stage makes its
/// part, and they are there, for all stages, when all parts are.
enum class TensorKind : std::uint8_t { None, Activation, Gradient, Output, OutputGradient };
/// A stage seen from the op's: the one before it, its own, the one after it; or the model's last, or all of them.
enum class At : std::int8_t { Before = -1, Own = 0, After = 1, Last, All };
/// From an op's stage to that one; 0 where it is no neighbour.
[[nodiscard]] constexpr int step_to(At stage) {
  return stage == At::Before || stage == At::After ? static_cast<int>(stage) : 0;
}
struct TensorAt {
  TensorKind tensor = TensorKind::None;
  At stage = At::Own;
};

/// A part of the bytes of a pass (one stage, one microbatch or slice). Bytes: sim/memory.hpp.
enum class Share : std::uint8_t {
  None,
  Kept,     ///< bytes that F leaves: everything, or the stash where an R follows
  Whole,    ///< all activations
  Early,    ///< bytes that the end of I frees
  Late,     ///< the rest: whole - early
  Dropped,  ///< bytes that R makes again: whole - stash
};

/// Ops of the same pass that must, or must not, come before this one in its rank's queue, or be there at all; and the diagnostic's text for
/// an op that breaks the rule ("{}": the op concerned).
struct OrderRule {
  KindSet kinds = {};
  std::string_view code = {};
  std::string_view text = {};
};

/// State of a pass, for executors.
enum class PassState : std::uint8_t {
  Open,       ///< no F yet
  Stashed,    ///< F ran, an R follows: its input is kept
  Kept,       ///< everything that going backward needs is kept
  InputDone,  ///< the bytes that W needs are kept
  Done,
};
/// The state in which an op needs a pass, and the state in which it leaves it.
struct PassStep {
  PassState from = PassState::Open;
  PassState or_from = PassState::Open;         ///< another that will do; the same if there is none
  std::optional<PassState> to = std::nullopt;  ///< nullopt: it stays, or (F) depends on the ops that follow
  bool from_host = false;                      ///< the pass's bytes are on the host before
  bool to_host = false;                        ///< and after the op
};

/// Hatching of the boxes of a kind.
enum class Pattern : std::uint8_t { None, Rising, Falling, Dotted };

/// Ops of the same pass, in an order.
struct KindList {
  std::array<OpKind, 3> kinds = {};
  std::uint8_t count = 0;
  constexpr KindList() = default;
  constexpr KindList(std::initializer_list<OpKind> list) {
    for (const OpKind kind : list) kinds[count++] = kind;
  }
  [[nodiscard]] constexpr const OpKind* begin() const { return kinds.data(); }
  [[nodiscard]] constexpr const OpKind* end() const { return kinds.data() + count; }
};

struct KindRow {
  OpKind kind = OpKind::Forward;
  char letter = ' ';
  std::string_view cost_key = {};  ///< "costs.backward_input"; name_of() is the part after the dot
  std::string_view words = {};     ///< "input gradient", for people
  Lane lane = Lane::Work;
  bool extra = false;       ///< beside F, B, I and W: not every pass needs one
  bool may_overlap = true;  ///< may be in a group

  TensorAt waits_for =
      {};  ///< a gradient After the last stage is that of turning_kind(); an activation Before the first is there
  TensorAt makes = {};
  /// Ops of its pass whose result it uses if they are there, the nearest first.
  KindList uses = {};

  Share taken = Share::None;   ///< at its start
  Share given = Share::None;   ///< at its end
  std::int8_t live_taken = 0;  ///< activations, by count
  std::int8_t live_given = 0;

  OrderRule after = {};                       ///< one of these must come before it
  std::array<OrderRule, 2> never_after = {};  ///< none of these may; the first that is broken is reported
  OrderRule excludes = {};                    ///< none of these may be in its pass
  OrderRule with = {};                        ///< must be in its pass, too

  PassStep pass = {};

  KindSet derived_from = {};  ///< durations that its own follows from
  int default_units = 1;      ///< its duration if none are given, in time units
  std::uint8_t colour = 0;    ///< place in the palettes of kinds
  Pattern pattern = Pattern::None;
};

namespace kind_texts {
inline constexpr std::string_view kTwoBackwards =
    "comes on top of another backward of the same stage and microbatch; use B, or I and W";
inline constexpr std::string_view kBehindBackward = "stands behind the backward that it is for";
inline constexpr std::string_view kBehindRecompute = "stands behind {}, which needs what it copies";
inline constexpr std::string_view kBefore = "stands before its forward {}";
inline constexpr std::string_view kWithout = "stands before (or without) {}";
inline constexpr std::string_view kOtherCopy = "the other of its two copies";
}  // namespace kind_texts

inline constexpr std::array<KindRow, kOpKinds> kKinds = {{
    {.kind = OpKind::Forward,
     .letter = 'F',
     .cost_key = "costs.forward",
     .words = "forward",
     .waits_for = {TensorKind::Activation, At::Before},
     .makes = {TensorKind::Activation, At::Own},
     .taken = Share::Kept,
     .live_taken = 1,
     .colour = 0},
    {.kind = OpKind::Backward,
     .letter = 'B',
     .cost_key = "costs.backward",
     .words = "backward",
     .waits_for = {TensorKind::Gradient, At::After},
     .makes = {TensorKind::Gradient, At::Own},
     .uses = {OpKind::Recompute, OpKind::Reload, OpKind::Forward},
     .given = Share::Whole,
     .live_given = 1,
     .after = {{OpKind::Forward}, "backward-before-forward", kind_texts::kBefore},
     .excludes = {{OpKind::BackwardInput, OpKind::BackwardWeight},
                  "mixed-backward",
                  kind_texts::kTwoBackwards},
     .pass = {.from = PassState::Kept, .or_from = PassState::Kept, .to = PassState::Done},
     .derived_from = {OpKind::BackwardInput, OpKind::BackwardWeight},
     .default_units = 2,
     .colour = 1,
     .pattern = Pattern::Rising},
    {.kind = OpKind::BackwardInput,
     .letter = 'I',
     .cost_key = "costs.backward_input",
     .words = "input gradient",
     .waits_for = {TensorKind::Gradient, At::After},
     .makes = {TensorKind::Gradient, At::Own},
     .uses = {OpKind::Recompute, OpKind::Reload, OpKind::Forward},
     .given = Share::Early,
     .after = {{OpKind::Forward}, "backward-before-forward", kind_texts::kBefore},
     .excludes = {{OpKind::Backward}, "mixed-backward", kind_texts::kTwoBackwards},
     .with = {{OpKind::BackwardWeight}, "missing-weight", "the weight gradient W that belongs to its I"},
     .pass = {.from = PassState::Kept, .or_from = PassState::Kept, .to = PassState::InputDone},
     .derived_from = {OpKind::Backward},
     .colour = 2,
     .pattern = Pattern::Falling},
    {.kind = OpKind::BackwardWeight,
     .letter = 'W',
     .cost_key = "costs.backward_weight",
     .words = "weight gradient",
     .waits_for = {TensorKind::Gradient, At::Own},
     .uses = {OpKind::BackwardInput},
     .given = Share::Late,
     .live_given = 1,
     .after = {{OpKind::BackwardInput},
               "weight-before-input",
               "stands before (or without) its input gradient {}"},
     .excludes = {{OpKind::Backward},
                  "mixed-backward",
                  "follows a full backward B, which computes the weight gradient already; use I and W"},
     .pass = {.from = PassState::InputDone, .or_from = PassState::InputDone, .to = PassState::Done},
     .derived_from = {OpKind::Backward},
     .colour = 3,
     .pattern = Pattern::Dotted},
    {.kind = OpKind::Recompute,
     .letter = 'R',
     .cost_key = "costs.recompute",
     .words = "recompute",
     .extra = true,
     .waits_for = {TensorKind::Activation, At::Own},
     .uses = {OpKind::Reload, OpKind::Forward},
     .taken = Share::Dropped,
     .after = {{OpKind::Forward}, "recompute-order", kind_texts::kWithout},
     .never_after =
         {{{{OpKind::Backward, OpKind::BackwardInput}, "recompute-order", kind_texts::kBehindBackward}}},
     .pass = {.from = PassState::Stashed, .or_from = PassState::Stashed, .to = PassState::Kept},
     .derived_from = {OpKind::Forward},
     .colour = 4,
     .pattern = Pattern::Rising},
    {.kind = OpKind::Offload,
     .letter = 'O',
     .cost_key = "costs.offload",
     .words = "offload",
     .lane = Lane::Copies,
     .extra = true,
     .may_overlap = false,
     .waits_for = {TensorKind::Activation, At::Own},
     .uses = {OpKind::Forward},
     .given = Share::Kept,
     .after = {{OpKind::Forward}, "copy-order", kind_texts::kWithout},
     .never_after = {{{{OpKind::Backward, OpKind::BackwardInput}, "copy-order", kind_texts::kBehindBackward},
                      {{OpKind::Recompute}, "copy-order", kind_texts::kBehindRecompute}}},
     .with = {{OpKind::Reload}, "copy-order", kind_texts::kOtherCopy},
     .pass = {.from = PassState::Stashed, .or_from = PassState::Kept, .to_host = true},
     .colour = 5,
     .pattern = Pattern::Falling},
    {.kind = OpKind::Reload,
     .letter = 'L',
     .cost_key = "costs.reload",
     .words = "reload",
     .lane = Lane::Copies,
     .extra = true,
     .may_overlap = false,
     .waits_for = {TensorKind::Activation, At::Own},
     .uses = {OpKind::Offload},
     .taken = Share::Kept,
     .after = {{OpKind::Offload}, "copy-order", kind_texts::kWithout},
     .never_after = {{{{OpKind::Backward, OpKind::BackwardInput}, "copy-order", kind_texts::kBehindBackward},
                      {{OpKind::Recompute}, "copy-order", kind_texts::kBehindRecompute}}},
     .with = {{OpKind::Offload}, "copy-order", kind_texts::kOtherCopy},
     .pass = {.from = PassState::Stashed, .or_from = PassState::Kept, .from_host = true},
     .derived_from = {OpKind::Offload},
     .colour = 6,
     .pattern = Pattern::Dotted},
    {.kind = OpKind::Output,
     .letter = 'S',
     .cost_key = "costs.output",
     .words = "output layer",
     .extra = true,
     .waits_for = {TensorKind::Activation, At::Last},
     .makes = {TensorKind::Output, At::All},
     .with = {{OpKind::OutputWeight}, "missing-output", "the gradients T of its share of the output layer"},
     .colour = 7,
     .pattern = Pattern::Rising},
    {.kind = OpKind::OutputWeight,
     .letter = 'T',
     .cost_key = "costs.output_weight",
     .words = "output layer's gradients",
     .extra = true,
     .waits_for = {TensorKind::Output, At::All},
     .makes = {TensorKind::OutputGradient, At::All},
     .after = {{OpKind::Output}, "output-order", kind_texts::kWithout},
     .with = {{OpKind::Output}, "missing-output", "the S of its share of the output layer"},
     .colour = 8,
     .pattern = Pattern::Dotted},
}};

[[nodiscard]] constexpr const KindRow& row_of(OpKind kind) {
  return kKinds[index_of(kind)];
}

/// 'F', 'B', 'I', 'W', 'R', 'O', 'L', 'S' or 'T'.
[[nodiscard]] constexpr char letter_of(OpKind kind) {
  return row_of(kind).letter;
}
/// The kind of a letter; nothing for other letters.
[[nodiscard]] constexpr std::optional<OpKind> kind_of_letter(char letter) {
  for (const KindRow& row : kKinds)
    if (row.letter == letter) return row.kind;
  return std::nullopt;
}
/// "backward_input": in configurations, files and JSON.
[[nodiscard]] constexpr std::string_view name_of(OpKind kind) {
  return row_of(kind).cost_key.substr(std::string_view("costs.").size());
}
/// "input gradient": for people.
[[nodiscard]] constexpr std::string_view words_of(OpKind kind) {
  return row_of(kind).words;
}

static_assert(
    [] {
      for (std::size_t k = 0; k < kOpKinds; ++k)
        if (index_of(kKinds[k].kind) != k || index_of(kAllOpKinds[k]) != k) return false;
      return true;
    }(),
    "rows stand in the order of OpKind");

// Sets of kinds and arrays [kind], made of the table of kinds (sim/kinds.hpp) by the compiler: what loops over ops ask, one shift and one
// "and" each.

/// The kinds for which `is` holds.
template <class Predicate>
[[nodiscard]] constexpr KindSet kinds_where(Predicate is) {
  KindSet out;
  for (const KindRow& row : kKinds)
    if (is(row)) out.add(row.kind);
  return out;
}

inline constexpr KindSet kCopies = kinds_where([](const KindRow& row) { return row.lane == Lane::Copies; });
inline constexpr KindSet kExtras = kinds_where([](const KindRow& row) { return row.extra; });
inline constexpr KindSet kGradientMakers =
    kinds_where([](const KindRow& row) { return row.makes.tensor == TensorKind::Gradient; });
/// R: makes again what F did not keep.
inline constexpr KindSet kTakesDropped =
    kinds_where([](const KindRow& row) { return row.taken == Share::Dropped; });
/// B, I and R: ops of the queue that wait for the end of a copy of their pass.
inline constexpr KindSet kWaitsForCopy = kinds_where([](const KindRow& row) {
  bool waits = false;
  for (const OpKind used : row.uses) waits = waits || kCopies.has(used);
  return waits && row.lane == Lane::Work;
});
/// L: copies for whose end ops of the queue wait.
inline constexpr KindSet kAwaitedCopies = kinds_where([](const KindRow& row) {
  bool awaited = false;
  for (const KindRow& user : kKinds)
    for (const OpKind used : user.uses) awaited = awaited || (used == row.kind && user.lane == Lane::Work);
  return awaited && row.lane == Lane::Copies;
});

/// S and T: ops of an output layer that all stages share.
inline constexpr KindSet kOutputKinds =
    kinds_where([](const KindRow& row) { return row.makes.stage == At::All; });

/// True for B and I: the op whose end lets the previous stage go backward.
[[nodiscard]] constexpr bool carries_gradient(OpKind kind) {
  return kGradientMakers.has(kind);
}

/// True for O and L: they are in the rank's queue where they are issued, but run on its copy stream, one after another, and
/// the entries after them do not wait for their end (B and I of a reloaded activation wait for its L).
[[nodiscard]] constexpr bool is_copy(OpKind kind) {
  return kCopies.has(kind);
}

/// From an op's stage to the one whose tensor it waits for: -1 for F, 1 for B and I, 0 for those that need nothing from another stage.
inline constexpr std::array<int, kOpKinds> kStepToProducer = [] {
  std::array<int, kOpKinds> steps{};
  for (const KindRow& row : kKinds) steps[index_of(row.kind)] = step_to(row.waits_for.stage);
  return steps;
}();
/// From an op's stage to the one that waits for its output: 1 for F, -1 for B and I, else 0.
inline constexpr std::array<int, kOpKinds> kStepToConsumer = [] {
  std::array<int, kOpKinds> steps{};
  for (const KindRow& maker : kKinds)
    for (const KindRow& user : kKinds)
      if (maker.makes.tensor != TensorKind::None && maker.makes.tensor == user.waits_for.tensor &&
          step_to(user.waits_for.stage) != 0)
        steps[index_of(maker.kind)] = -step_to(user.waits_for.stage);
  return steps;
}();
[[nodiscard]] constexpr int step_to_producer(OpKind kind) {
  return kStepToProducer[index_of(kind)];
}
[[nodiscard]] constexpr int step_to_consumer(OpKind kind) {
  return kStepToConsumer[index_of(kind)];
}

}  // namespace pipeloom
