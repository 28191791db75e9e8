#pragma once

// How the parameters panel names configuration keys: the group of a key, its label, the keys that have a row even while they have their
// defaults, and how a value reads. The meaning of a key and the values that it takes are in its own row (sim/io/config/keys.cpp).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/op.hpp>
#include "gui/model/run/run_model.hpp"
#include "gui/model/session/part.hpp"
#include "sim/io/config/key.hpp"

namespace pipeloom::schedules {
struct Generator;
}

namespace pipeloom::gui {

class ConfigModel;

enum class ParamGroup : std::uint8_t { Shape, Costs, Memory, Transfers, Options, Step, Stragglers, Model };

struct ParamGroupRow {
  ParamGroup group;
  std::string_view id;    ///< "costs", of its head's item
  std::string_view head;  ///< "Costs"
  /// The key whose value the head tells: the unit that times are per, the model of transfers.
  std::string_view told;
  /// The text in the head of a group without a row; "" for the value of `told`.
  std::string_view at_rest;
};

/// All groups in the order of the panel.
[[nodiscard]] std::span<const ParamGroupRow> param_groups();
[[nodiscard]] ParamGroup group_of(const io::Key& key);
/// "Microbatches m", "Forward (F)": the head of the group says the rest.
[[nodiscard]] std::string label_of(const io::Key& key);
/// The key in the frameworks' words; null for keys that they have no word for.
struct Dialects {
  std::string_view path;
  std::string_view torch;     ///< torchtitan's, else PyTorch's
  std::string_view megatron;  ///< Megatron-core's
};
[[nodiscard]] const Dialects* dialects_of(const io::Key& key);
/// True if the key has a row even where it is not set, with ops of these kinds in the schedule.
[[nodiscard]] bool is_main(const io::Key& key, KindSet kinds);

/// The generator of a schedule, given by any of its names; null for one of a file.
[[nodiscard]] const schedules::Generator* generator_of(const std::string& schedule);
/// True if the key has a field for this configuration: it is set, or the schedule takes it and the keys that it needs are set.
[[nodiscard]] bool has_field(const ConfigModel& config, const io::Key& key);

/// True if the panel shows the key's value without a row of it: in a group's head, or as the unit of other values.
[[nodiscard]] bool is_told_elsewhere(const io::Key& key);

/// A value as the field shows it while it is not edited: the number, and its unit next to it in the quieter colour.
struct ShownValue {
  std::string text;
  std::string unit;
};
/// `value` as people type it or as JSON; `time_unit` is the configuration's: "ms". Bytes without a unit are read as bytes: "3600000000" is
/// 3.6 GB.
[[nodiscard]] ShownValue shown_of(const io::Key& key, std::string_view value, std::string_view time_unit);

/// The values of a table per stage, "[2.5,2,3]", as held values have them: "2 to 3", "2" where they are equal; "" where an entry is no number.
[[nodiscard]] std::string summary_of_table(std::string_view text);

/// "Ranks" of "Ranks p", "Forward" of "Forward (F)": the subject of a sentence about the key.
[[nodiscard]] std::string subject_of(const io::Key& key);
/// A refusal of a key's value, as the configuration's reader words it, in a line that begins with the key's label: "Ranks: a whole number from 1 to
/// 1048576".
[[nodiscard]] std::string refusal_line(const io::Key& key, std::string_view refusal);
/// The count that a text means, as digits: "1000" of "1e3". Any other text as it is.
[[nodiscard]] std::string plain_count(const io::Key& key, std::string_view text);

/// Values of keys that are not set, in the run that is on screen.
class HeldValues : public Part {
 public:
  explicit HeldValues(Session&) {}

  /// The value as JSON, of a table the one that all its entries have, or the least and the most: "2 to 3"; "" where the run does not say. `run` may be null.
  [[nodiscard]] const std::string& of(const io::Key& key, const RunModel* run);
  /// True if the run's value follows from its model (costs.model), and nothing else says it.
  [[nodiscard]] bool from_model(const io::Key& key, const RunModel* run);

 private:
  void read(const RunModel& run);

  std::uint64_t run_ = 0;
  std::vector<bool> from_model_;    // [id of a key]
  std::vector<std::string> texts_;  // [id of a key]
};

}  // namespace pipeloom::gui
