#include "sim/io/hardware/hardware_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/hardware/embedded.hpp"
#include "sim/io/hardware/section.hpp"
#include "sim/io/hardware/table_reading.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::io {
namespace {

using hardware::Hardware;

constexpr double kTera = 1e12;
// No device is below this: with less, times would be endless.
constexpr NumberRange kEfficiency{1e-6, 1};
constexpr NumberRange kTeraflops{1e-6, 1e6};
constexpr NumberRange kFactor{0, 100};

void read_memory(const Value& value, Hardware& hardware) {
  const Section section(value, "memory", {"capacity", "bandwidth"});
  section.bytes("capacity", hardware.memory_bytes);
  section.bytes_per_second("bandwidth", hardware.memory_rate);
}

void read_matrix(const Value& value, Hardware& hardware) {
  const Section section(value, "matrix", {"bf16_tflops", "fp8_tflops", "mxfp8_tflops", "precision"});
  const std::array<std::string_view, hardware::kPrecisions> keys = {"bf16_tflops", "fp8_tflops",
                                                                    "mxfp8_tflops"};
  for (std::size_t precision = 0; precision < keys.size(); ++precision) {
    double teraflops = hardware.matrix_rate[precision] / kTera;
    section.number(keys[precision], teraflops, kTeraflops);
    hardware.matrix_rate[precision] = teraflops * kTera;
  }
  const Value* chosen = section.find("precision");
  if (chosen == nullptr) return;
  const std::size_t precision = choice_in(*chosen, "matrix.precision", {"bf16", "fp8", "mxfp8"});
  if (hardware.matrix_rate[precision] == 0)
    throw InputError(chosen->where(), fmt::format("matrix.precision is {}, but {} is missing; give it too",
                                                  chosen->text(), keys[precision]));
  hardware.precision = static_cast<hardware::Precision>(precision);
}

void read_gemm(const Value& value, Hardware& hardware) {
  const Section section(value, "gemm", {"efficiency", "launch", "tables", "measured"});
  section.number("efficiency", hardware.gemm.efficiency, kEfficiency);
  section.seconds("launch", hardware.gemm.launch);
  read_gemm_tables(section, hardware);
}

void read_attention(const Value& value, Hardware& hardware) {
  const Section section(value, "attention",
                        {"efficiency", "backward_factor", "unfused_efficiency", "tables", "measured"});
  section.number("efficiency", hardware.attention.efficiency, {1e-6, 2});
  section.number("backward_factor", hardware.attention.backward_factor, kFactor);
  section.number("unfused_efficiency", hardware.attention.unfused_efficiency, kEfficiency);
  read_attention_tables(section, hardware);
}

void read_elementwise(const Value& value, Hardware& hardware) {
  const Section section(value, "elementwise", {"rms_norm_efficiency", "layer_norm_efficiency", "per_kernel"});
  auto& [rms, layer] = hardware.traffic_efficiency;
  section.number("rms_norm_efficiency", rms, kEfficiency);
  section.number("layer_norm_efficiency", layer, kEfficiency);
  section.seconds("per_kernel", hardware.kernel_seconds);
}

void read_launch(const Value& value, Hardware& hardware) {
  const Section section(value, "launch", {"layer_floor", "growth", "sharpness", "per_pass"});
  section.seconds("layer_floor", hardware.launch.layer_floor);
  section.number("growth", hardware.launch.floor_growth, {0, 10});
  section.number("sharpness", hardware.launch.sharpness, {0.99, 20});
  section.seconds("per_pass", hardware.launch.pass_seconds);
}

void read_optimizer(const Value& value, Hardware& hardware) {
  const Section section(value, "optimizer", {"efficiency"});
  section.number("efficiency", hardware.optimizer_efficiency, kEfficiency);
}

void read_collectives(const Value& value, Hardware& hardware) {
  const Section section(value, "collectives", {"factor", "tables", "measured"});
  section.number("factor", hardware.collective_factor, kFactor);
  read_collective_tables(section, hardware);
}

void read_link(const Value& value, const char* name, hardware::Link& link) {
  const Section section(value, name, {"rate", "latency", "efficiency"});
  section.bytes_per_second("rate", link.bytes_per_second);
  section.seconds("latency", link.latency);
  section.number("efficiency", link.efficiency, kEfficiency);
}

void read_devices_per_node(const Value& value, Hardware& hardware) {
  const std::int64_t devices = size_of(value, "devices_per_node");
  if (devices > 100'000) refuse_value(value, "devices_per_node", "a whole number from 1 to 100000");
  hardware.devices_per_node = static_cast<int>(devices);
}

/// Tables set times in relation to rates, so that memory and matrix come first, whatever the order in the file.
struct HardwareKey {
  std::string_view name;
  void (*read)(const Value&, Hardware&);
};
constexpr HardwareKey kHardwareKeys[] = {
    {"memory", read_memory},
    {"matrix", read_matrix},
    {"gemm", read_gemm},
    {"attention", read_attention},
    {"elementwise", read_elementwise},
    {"launch", read_launch},
    {"optimizer", read_optimizer},
    {"collectives", read_collectives},
    {"nvlink", [](const Value& value, Hardware& hardware) { read_link(value, "nvlink", hardware.nvlink); }},
    {"network",
     [](const Value& value, Hardware& hardware) { read_link(value, "network", hardware.network); }},
    {"send", [](const Value& value, Hardware& hardware) { read_link(value, "send", hardware.send); }},
    {"pcie", [](const Value& value, Hardware& hardware) { read_link(value, "pcie", hardware.pcie); }},
    {"devices_per_node", read_devices_per_node},
};

/// Checks the keys of a device that have no default.
void require_rates(const Hardware& hardware, const Where& where) {
  const std::pair<double, std::string_view> needed[] = {{hardware.memory_bytes, "memory.capacity"},
                                                        {hardware.memory_rate, "memory.bandwidth"},
                                                        {hardware.matrix_rate[0], "matrix.bf16_tflops"},
                                                        {hardware.nvlink.bytes_per_second, "nvlink.rate"},
                                                        {hardware.network.bytes_per_second, "network.rate"}};
  for (const auto& [number, key] : needed)
    if (number <= 0)
      throw InputError(where,
                       fmt::format("{} is missing; give it, or say in \"like\" which preset the device is "
                                   "like ({})",
                                   key, join(hardware_names(), " ")));
}

const EmbeddedHardware* preset_named(std::string_view name) {
  for (const EmbeddedHardware& file : embedded_hardware())
    if (file.name == lower(name)) return &file;
  return nullptr;
}

std::shared_ptr<const Hardware> read_preset(const EmbeddedHardware& file) {
  static std::recursive_mutex mutex;  // a preset may be like another
  static std::map<std::string_view, std::shared_ptr<const Hardware>> read;
  const std::scoped_lock lock(mutex);
  auto& hardware = read[file.name];
  if (hardware == nullptr) {
    const auto document = Document::parse(file.text, fmt::format("configs/hardware/{}.json", file.name));
    hardware = std::make_shared<const Hardware>(read_hardware(document.root()));
  }
  return hardware;
}

}  // namespace

Hardware read_hardware(const Value& value) {
  const Section section(
      value, "",
      {"name", "like", "memory", "matrix", "gemm", "attention", "elementwise", "launch", "optimizer",
       "collectives", "nvlink", "send", "network", "pcie", "devices_per_node"});
  Hardware hardware;
  if (const Value* like = section.find("like")) {
    const EmbeddedHardware* preset = preset_named(string_of(*like, "like"));
    if (preset == nullptr)
      throw InputError::unknown_name(like->where(), "preset", shortened(like->text(), 64), hardware_names());
    hardware = *read_preset(*preset);
  }
  hardware.name.clear();
  hardware.source.clear();
  section.text("name", hardware.name);
  section.text("source", hardware.source);
  for (const HardwareKey& key : kHardwareKeys)
    if (const Value* part = section.find(key.name)) key.read(*part, hardware);
  require_rates(hardware, value.where());
  return hardware;
}

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const EmbeddedHardware& file : embedded_hardware()) names.emplace_back(file.name);
  return names;
}

std::shared_ptr<const Hardware> find_hardware(std::string_view name_or_path, const Where& where) {
  if (const EmbeddedHardware* preset = preset_named(name_or_path)) return read_preset(*preset);
  const std::string path(name_or_path);
  std::error_code ignored;
  const bool is_path = path.ends_with(".json") || path.find('/') != std::string::npos ||
                       std::filesystem::exists(path, ignored);
  if (!is_path)
    throw InputError::unknown_name(where, "hardware", shortened(name_or_path, 64), hardware_names());
  auto hardware = read_hardware(Document::parse(read_file(path), path).root());
  if (hardware.name.empty()) hardware.name = printable(std::filesystem::path(path).stem().string());
  if (hardware.source.empty()) hardware.source = printable(path);
  return std::make_shared<const Hardware>(std::move(hardware));
}

}  // namespace pipeloom::io
