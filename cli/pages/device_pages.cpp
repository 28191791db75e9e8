#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "cli/numbers.hpp"
#include "cli/pages/known_pages.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_writer.hpp"

namespace pipeloom::cli {
namespace {

using hardware::Hardware;

/// A number of a device: what hardware files call it, its unit, and how it is found. `in_list`: the list of devices has a column of this title.
struct DeviceNumber {
  std::string_view key;
  std::string_view unit;
  std::string_view in_list;
  double (*value)(const Hardware&);
};
constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kMicro = 1e-6;

template <std::size_t precision>
double teraflops(const Hardware& device) {
  return device.matrix_rate[precision] / kTera;
}
constexpr DeviceNumber kNumbers[] = {
    {"memory.capacity", "GiB", "GiB",
     [](const Hardware& d) { return d.memory_bytes / static_cast<double>(1 << 30); }},
    {"memory.bandwidth", "GB/s", "GB/s", [](const Hardware& d) { return d.memory_rate / kGiga; }},
    {"matrix.bf16_tflops", "TFLOPS", "bf16", teraflops<0>},
    {"matrix.fp8_tflops", "TFLOPS", "fp8", teraflops<1>},
    {"matrix.mxfp8_tflops", "TFLOPS", "mxfp8", teraflops<2>},
    {"devices_per_node", "", "a node",
     [](const Hardware& d) { return static_cast<double>(d.devices_per_node); }},
    {"nvlink.rate", "GB/s", "nvlink", [](const Hardware& d) { return d.nvlink.bytes_per_second / kGiga; }},
    {"nvlink.latency", "us", "", [](const Hardware& d) { return d.nvlink.latency / kMicro; }},
    {"nvlink.efficiency", "", "", [](const Hardware& d) { return d.nvlink.efficiency; }},
    {"network.rate", "GB/s", "network", [](const Hardware& d) { return d.network.bytes_per_second / kGiga; }},
    {"network.latency", "us", "", [](const Hardware& d) { return d.network.latency / kMicro; }},
    {"network.efficiency", "", "", [](const Hardware& d) { return d.network.efficiency; }},
    {"pcie.rate", "GB/s", "", [](const Hardware& d) { return d.pcie.bytes_per_second / kGiga; }},
    {"gemm.efficiency", "", "", [](const Hardware& d) { return d.gemm.efficiency; }},
    {"gemm.launch", "us", "", [](const Hardware& d) { return d.gemm.launch / kMicro; }},
    {"attention.efficiency", "", "", [](const Hardware& d) { return d.attention.efficiency; }},
    {"attention.backward_factor", "", "", [](const Hardware& d) { return d.attention.backward_factor; }},
    {"elementwise.rms_norm_efficiency", "", "", [](const Hardware& d) { return d.traffic_efficiency[0]; }},
    {"elementwise.layer_norm_efficiency", "", "", [](const Hardware& d) { return d.traffic_efficiency[1]; }},
    {"elementwise.per_kernel", "us", "", [](const Hardware& d) { return d.kernel_seconds / kMicro; }},
    {"launch.layer_floor", "us", "", [](const Hardware& d) { return d.launch.layer_floor / kMicro; }},
    {"launch.per_pass", "us", "", [](const Hardware& d) { return d.launch.pass_seconds / kMicro; }},
    {"optimizer.efficiency", "", "", [](const Hardware& d) { return d.optimizer_efficiency; }},
    {"collectives.factor", "", "", [](const Hardware& d) { return d.collective_factor; }},
};

std::string shown(double value) {
  return value == 0 ? "" : fmt::format("{:.6g}", value);
}

/// The key in the list's JSON: "memory.capacity" in GiB is "memory_capacity_gib".
std::string json_key(const DeviceNumber& number) {
  std::string out;
  for (const char c : number.key) out += c == '.' ? '_' : c;
  if (number.unit.empty() || number.unit == "TFLOPS") return out;
  out += '_';
  for (const char c : number.unit)
    if (c != '/') out += lower(c);
  return out;
}

/// Units are what a file says them in: six digits are more than any has.
double six_digits(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

void write_device(io::JsonWriter& out, const Hardware& device) {
  out.object().member("name", device.name);
  for (const DeviceNumber& number : kNumbers) {
    const double value = number.value(device);
    const bool is_missing = value == 0 && number.unit == "TFLOPS";
    out.member(json_key(number), is_missing ? std::nullopt : std::optional(six_digits(value)));
  }
  out.member("precision", name_of(device.precision)).member("source", device.source).close();
}

}  // namespace

std::string devices_page(const Devices& devices, const Screen& screen) {
  std::vector<Column> columns = {{"device"}};
  for (const DeviceNumber& number : kNumbers)
    if (!number.in_list.empty()) columns.push_back({std::string(number.in_list), Align::Right});
  Table table(std::move(columns));
  for (const auto& device : devices) {
    std::vector<std::string> cells = {device->name};
    for (const DeviceNumber& number : kNumbers)
      if (!number.in_list.empty()) cells.push_back(shown(number.value(*device)));
    table.add_row(std::move(cells));
  }
  std::string out =
      table.text(screen.has_colour()) +
      "\nGiB and GB/s of memory, TFLOPS of dense products, devices of a node, GB/s one way.\n\n";
  for (const auto& device : devices)
    out += study::wrapped(printable(device->name + ": " + device->source),
                          static_cast<std::size_t>(screen.width), 0);
  return out +
         "\n`pipeloom hardware NAME` shows one whole; --hardware takes these names, or a file of your own.\n";
}

std::string devices_json(const Devices& devices) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().line(2).member("schema_version", 1).line(2).key("hardware").array();
                            for (const auto& device : devices) write_device(out.line(4), *device);
                            out.close(2).close(0);
                          }) +
         '\n';
}

std::string device_page(const Hardware& device, const Screen& screen) {
  std::string out = bold(printable(device.name), screen.has_colour()) + '\n';
  out +=
      study::wrapped("source: " + printable(device.source), static_cast<std::size_t>(screen.width), 2) + '\n';
  Table table({{""}, {"", Align::Right}, {""}});
  for (const DeviceNumber& number : kNumbers)
    if (const std::string text = shown(number.value(device)); !text.empty())
      table.add_row({std::string(number.key), text, std::string(number.unit)});
  table.add_row({"matrix.precision", std::string(name_of(device.precision)), ""});
  return out + table.text();
}

std::string device_json(const Hardware& device) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_device(out, device); }) + '\n';
}

}  // namespace pipeloom::cli
