#pragma once

// Verdict on whether a target runs a plan, and the settings that it needs.

#include <span>
#include <string>
#include <vector>

#include "sim/io/json/json_writer.hpp"
#include "study/targets/deployment.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

/// A key of the target's own configuration and its value as JSON.
struct Setting {
  std::string key;
  std::string value;
};

/// Text to paste, and the rest that goes with it.
struct ToRun {
  std::string text = {};                ///< lines of the target's own language; ends without a newline
  std::vector<Setting> settings = {};   ///< the same as keys and values, in the text's order
  std::vector<std::string> files = {};  ///< that the text names: the order
  std::vector<std::string> needs = {};  ///< sentences on requirements that the text cannot express
};

struct TargetVerdict {
  const Target* target = nullptr;
  std::string reason = {};  ///< why the target does not run it; "" if it does
  std::string word =
      {};  ///< how the order is called there: "ZBVZeroBubble"; "" where it has no name or comes from a file
  bool from_file = false;
  bool layers_said = false;  ///< false: the target takes its own split
  /// [stage]: the layers that it takes, if they differ from the planned ones; the plan has to be measured with these.
  std::vector<int> own_layers = {};
  std::string why_own = {};  ///< why it cannot be told the plan
  ToRun to_run = {};         ///< empty where it is not taken, or takes other layers

  [[nodiscard]] bool taken() const { return reason.empty(); }
};

/// An own order of the target is named only where that order is the planned one op by op; else the order comes from a file, where the target takes
/// one. O(ops) for each own order with that number of stages per rank.
[[nodiscard]] TargetVerdict verdict_of(const Target& target, const Deployment& deployment);
/// The same of several targets, which share the orders that are made: [target].
[[nodiscard]] std::vector<TargetVerdict> verdicts_of(std::span<const Target> targets,
                                                     const Deployment& deployment);

/// For each target that takes the plan, its text under its name, indented, with its needs; for the others why not.
[[nodiscard]] std::string to_run_page(std::span<const TargetVerdict> verdicts, int width);

/// "to_run": [..] of those that have something to paste. Lines are indented by two blanks.
void write_to_run(io::JsonWriter& out, std::span<const TargetVerdict> verdicts);

/// A candidate that a target does not run, or cannot be told.
struct NotTaken {
  const Target* target = nullptr;
  std::string name;  ///< of the candidate
  std::string reason;
};
/// "not_taken": [..].
void write_not_taken(io::JsonWriter& out, std::span<const NotTaken> not_taken);

}  // namespace pipeloom::study
