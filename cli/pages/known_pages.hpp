#pragma once

// Models and devices that have names, or any other file of one: lists, the page of one, and both as JSON.

#include <memory>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "sim/hardware/hardware.hpp"
#include "sim/model/model.hpp"

namespace pipeloom::cli {

/// Parameters (those that a token passes too), layers, width, context and source of each.
[[nodiscard]] std::string models_page(const std::vector<model::Model>& models, const Screen& screen);
[[nodiscard]] std::string models_json(const std::vector<model::Model>& models);
/// All of one: its sizes, and each kind of layer with its parameters. Ends in '\n'.
[[nodiscard]] std::string model_page(const model::Model& model, const Screen& screen);
[[nodiscard]] std::string model_json(const model::Model& model);

using Devices = std::vector<std::shared_ptr<const hardware::Hardware>>;

/// Memory, rates of products, links and source of each.
[[nodiscard]] std::string devices_page(const Devices& devices, const Screen& screen);
[[nodiscard]] std::string devices_json(const Devices& devices);
/// All numbers of one but its tables, of which it says how much there is. Ends in '\n'.
[[nodiscard]] std::string device_page(const hardware::Hardware& device, const Screen& screen);
[[nodiscard]] std::string device_json(const hardware::Hardware& device);

}  // namespace pipeloom::cli
