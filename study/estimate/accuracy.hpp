#pragma once

// How far estimates were from measured steps: the figures of docs/accuracy.md ("Estimates"), for every place that says so.

#include <string>
#include <string_view>

namespace pipeloom::study {

/// All of it in one sentence, for where an estimate's times are from.
[[nodiscard]] std::string accuracy_text();

/// Of one device, in half a sentence: "within 4 % (H100, B200 and GB200, dense models in 8 bits) of measured steps in the mean, 42 % at worst". `hardware`: its name in
/// configs/hardware. `experts`: whether the model has any.
[[nodiscard]] std::string accuracy_on(std::string_view hardware, bool experts);

}  // namespace pipeloom::study
