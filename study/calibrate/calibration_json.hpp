#pragma once

#include <string>

#include "study/calibrate/calibrate.hpp"

namespace pipeloom::study::calibrate {

/// What `pipeloom calibrate --json` prints (schema "calibration"). `partial` says that the recording lacked steps or ends of files.
[[nodiscard]] std::string calibration_json(const Calibration& calibration, const Timeline& timeline,
                                           bool partial);

}  // namespace pipeloom::study::calibrate
