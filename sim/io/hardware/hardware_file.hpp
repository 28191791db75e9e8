#pragma once

// Hardware files: JSON with the rates of a device and its links (docs/models.md), and those that come with the program.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/hardware/hardware.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// The hardware that an object of a document describes. Throws InputError for unknown keys, numbers out of range, and missing keys: a device
/// that is `like` no preset must give its memory, its matrix rate, NVLink and network.
[[nodiscard]] hardware::Hardware read_hardware(const Value& value);

/// "a100" "b200" ..., in alphabetical order.
[[nodiscard]] std::vector<std::string> hardware_names();

/// The preset of that name in any case, else the file. Throws InputError, at `where` for a name that is neither, and as read_hardware(). Presets
/// are read once per process.
[[nodiscard]] std::shared_ptr<const hardware::Hardware> find_hardware(std::string_view name_or_path,
                                                                      const Where& where);

}  // namespace pipeloom::io
