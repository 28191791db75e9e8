#pragma once

// Megatron-LM's layout strings (--pipeline-model-parallel-layout): every layer of the model a letter, in model order.
//
//   Et*3|(tt|)*29,m|L     32 stages: Ettt, 29 times tt, m, L
//
//   E t m L    embedding, decoder layer, MTP layer, loss (head)
//   |          the next stage; stages may be empty
//   x*n        the letter or | before it, n times
//   (...)*n    a group, n times; it may hold | and repeats but no group. One more *n repeats the letter or | in front of it
//   ,          nothing: for the eye
//
// Stage k goes to rank k mod p as chunk k div p. Source: Megatron-LM, pipeline_parallel_layer_layout.py.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/layout/stage_content.hpp"

namespace pipeloom::layout {

/// Most letters and stages together that a string may expand to. Checked before anything is expanded.
inline constexpr std::int64_t kMaxLayoutLetters = std::int64_t{1} << 20;

/// A layout, expanded: one text of letters per stage, {"Ettt", "tt", .., "m", "L"}. Never without a stage.
struct MegatronLayout {
  std::vector<std::string> stages;
  /// Where the layout was read from, and the columns of its letters and of the | between stages, in order. Empty if it was not read.
  std::string source = {};
  std::vector<int> columns = {};

  /// The place where letter `letter` of a stage was read; after its last one, that of the | that ends the stage. Unknown for a layout that was made.
  [[nodiscard]] Where place(std::size_t stage, std::size_t letter = 0) const;
  /// The same letters in the same stages, wherever they were read.
  friend bool operator==(const MegatronLayout& a, const MegatronLayout& b) { return a.stages == b.stages; }
};

/// Reads a layout string. `source` is where it comes from ("--megatron-layout", a file): errors name it with line 1 and the
/// column, in bytes from 1. Throws InputError for other letters, blanks, a repeat without a number or of nothing, a group in a
/// group or without a repeat (Megatron-LM reads neither), and for strings that expand to too much, with the size.
[[nodiscard]] MegatronLayout parse_megatron_layout(std::string_view text, const std::string& source = "");

/// The layout as a string, with repeats and groups where they make it shorter: "Et*4|(t*4|)*6,t*4L". Reads back as the
/// same layout.
[[nodiscard]] std::string to_text(const MegatronLayout& layout);

/// The layout that stages with these contents make.
[[nodiscard]] MegatronLayout layout_of(const std::vector<StageContent>& contents);

/// Facts about the model that the layout must fit; a fact that is not given is not checked.
struct LayoutModel {
  std::optional<int> layers = {};
  std::optional<int> mtp = {};
};

/// The stages' contents, after the checks of Megatron-core 0.19.2 for `ranks` ranks: the number of stages is a multiple of the ranks;
/// one E, the first of all letters; one L, the last of all; stages before, between and after them may be empty; decoder and MTP layers
/// as many as the model has; MTP layers in one stage, after all decoder layers, in the last chunk of its rank. Throws InputError with the first that
/// does not hold, at the place of a layout that was read.
[[nodiscard]] std::vector<StageContent> contents_of(const MegatronLayout& layout, int ranks,
                                                    const LayoutModel& model = {});

/// Why no layout string can express this placement, or "": stage k must be on rank k mod p, in one replica.
[[nodiscard]] std::string layout_refusal(const Placement& placement);

}  // namespace pipeloom::layout
