#pragma once

// What runs a plan in the end, and what it can express.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::study {

struct Target {
  std::string_view name;
  std::string_view dialect;  ///< of the aliases in the registry: a schedule that has one can be named there
  bool any_order = false;    ///< takes an order from a file: PyTorch's CSV
  std::string_view needs;    ///< why a schedule that it cannot name is refused
};

[[nodiscard]] std::span<const Target> targets();
/// By name, "torch-2.15" and "2.15" alike. Throws InputError at --target naming all.
[[nodiscard]] const Target& target_named(std::string_view name);

/// "" where the target can run the registry's schedule (or "custom", an order of its own), else why not.
[[nodiscard]] std::string target_refusal(const Target& target, std::string_view schedule);
/// What the target calls a schedule; "" where it has no word for it.
[[nodiscard]] std::string target_word(const Target& target, std::string_view schedule);

}  // namespace pipeloom::study
