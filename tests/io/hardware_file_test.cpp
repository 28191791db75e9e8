// Hardware files: what they may say, what they are refused for, and the presets.

#include "sim/io/hardware/hardware_file.hpp"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace pipeloom::io::hardware_file_test {
namespace {

using hardware::Basis;
using hardware::Hardware;

Hardware read(const std::string& text) {
  return read_hardware(Document::parse(text, "h.json").root());
}

/// The least that a device says, with more keys behind it.
std::string device(const std::string& more = "") {
  return R"({"memory": {"capacity": "80GB", "bandwidth": "2TB/s"}, "matrix": {"bf16_tflops": 300}, )"
         R"("nvlink": {"rate": "300GB/s"}, "network": {"rate": "200Gbit/s"})" +
         more + "}";
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

bool says(const std::string& text, std::initializer_list<std::string_view> parts) {
  bool all = true;
  for (const std::string_view part : parts) {
    const bool found = text.find(part) != std::string::npos;
    if (!found) UNSCOPED_INFO(text << " lacks " << part);
    all = all && found;
  }
  return all;
}

}  // namespace

TEST_CASE("a device says its rates, in units as people write them") {
  const Hardware h = read(device());
  CHECK(h.memory_bytes == 80e9);
  CHECK(h.memory_rate == 2e12);
  CHECK(h.matrix_rate[0] == 300e12);
  CHECK(h.nvlink.bytes_per_second == 300e9);
  CHECK(h.network.bytes_per_second == 25e9);  // 200 / 8
  CHECK(h.devices_per_node == 8);
}

TEST_CASE("what a hardware file lacks or has too much is an error with its place") {
  CHECK(says(error_of("{}"), {"h.json:1:1: error: memory.capacity is missing"}));
  CHECK(says(error_of(device(R"(, "nvlnk": {})")), {"key of hardware", "nvlink"}));
  CHECK(says(error_of(device(R"(, "gemm": {"eficiency": 0.5})")), {"key of gemm", "efficiency"}));
  CHECK(says(error_of(device(R"(, "gemm": {"efficiency": 1.5})")),
             {"gemm.efficiency is 1.5; it must be a number above 1e-06 and at most 1"}));
  CHECK(says(error_of(device(R"(, "gemm": {"launch": 9.4})")),
             {"gemm.launch is 9.4; it must be a time with its unit"}));
  CHECK(says(error_of(device(R"(, "pcie": {"rate": "64"})")),
             {"pcie.rate is the string '64'; it must be a rate"}));
  CHECK(says(error_of(device(R"(, "like": "h10")")), {"h100"}));
  CHECK(says(error_of(device(R"(, "devices_per_node": 0)")), {"devices_per_node is 0"}));
  CHECK(says(error_of(device(R"(, "memory": [])")), {"memory"}));
}

TEST_CASE("rates that would make times endless are refused") {
  CHECK(says(error_of(device(R"(, "gemm": {"efficiency": 1e-300})")), {"above 1e-06 and at most 1"}));
  CHECK(says(error_of(R"({"like": "h100", "matrix": {"bf16_tflops": 1e-300}})"), {"above 1e-06"}));
  // (x^q + floor^q)^(1/q) of a layer's microseconds must stay a number: 1e-6^20 does, 1e-6^100 is 0.
  CHECK(says(error_of(device(R"(, "launch": {"sharpness": 100})")), {"above 0.99 and at most 20"}));
}

TEST_CASE("rows of tables are checked number by number") {
  const auto gemm = [](const std::string& table) {
    return error_of(device(R"(, "gemm": {"tables": [)" + table + "]}"));
  };
  CHECK(
      says(gemm(R"({"us": [["forward", 1, 8, 8, 8]]})"),
           {"gemm.tables.0.us.0 is an array of 5; it must be a row [pass, groups, m, k, n, microseconds]"}));
  CHECK(says(gemm(R"({"us": [["forwards", 1, 8, 8, 8, 1]]})"), {"forward"}));
  CHECK(says(gemm(R"({"us": [["forward", 1, 8, 8.5, 8, 1]]})"), {"8.5; it must be a whole number"}));
  CHECK(says(gemm(R"({"us": [["forward", 1, 8, 8, 8, 0]]})"), {"is 0; it must be a number above 0"}));
  CHECK(says(gemm(R"({"precision": "fp8", "us": []})"), {"matrix.fp8_tflops is not given"}));
  CHECK(says(gemm(R"({"m": [128, 64], "us_by_m": []})"), {"an ascending array"}));
  CHECK(says(gemm(R"({"us_by_m": []})"), {"gemm.tables.0.us_by_m goes with gemm.tables.0.m"}));
  CHECK(says(gemm("{}"), {"has no rows"}));
  CHECK(says(error_of(device(R"(, "collectives": {"tables": [{"us": [["all_reduce", 1, 8, 8]]}]})")),
             {"2 to 1000000 ranks"}));
  CHECK(says(error_of(device(R"(, "attention": {"tables": [{"us": [["weight", 1, 8, 8, 8, 8, 8, 1]]}]})")),
             {"unknown pass 'weight'"}));
}

TEST_CASE("a measured row comes before a table's, and a table before its neighbours") {
  // Like H100, whose grid holds 4096 x 4096 x 4096; one product of the user's own took 1 ms.
  const Hardware h =
      read(R"({"like": "h100", "gemm": {"measured": {"us": [["forward", 1, 4096, 4096, 4096, 1000]]}}})");
  const model::Gemm gemm{.what = "fc1", .m = 4096, .k = 4096, .n = 4096};
  const auto forward = time_of(h, gemm, model::Pass::Forward);
  CHECK(forward.basis == Basis::Measured);
  CHECK(forward.seconds == Approx(1e-3));
  const auto input = time_of(h, gemm, model::Pass::BackwardInput);
  CHECK(input.basis == Basis::Table);
  CHECK(input.seconds < 0.5e-3);
}

TEST_CASE("presets are found by name in any case, files by their path") {
  CHECK(hardware_names() == std::vector<std::string>{"a100", "b200", "gb200", "gb300", "h100", "h200", "h800",
                                                     "mi300x", "mi355x"});
  for (const std::string& name : hardware_names()) {
    const auto preset = find_hardware(name, {});
    CHECK(preset->name == name);
    CHECK_FALSE(preset->source.empty());
    CHECK(preset == find_hardware(name, {}));
  }
  CHECK(find_hardware("H100", {})->matrix_rate[0] == 989e12);
  CHECK(find_hardware("h800", {})->nvlink.bytes_per_second == 200e9);
  CHECK_FALSE(find_hardware("h800", {})->gemm.tables[0].grid.empty());
  CHECK(find_hardware("h800", {})->collectives.empty());
  try {
    static_cast<void>(find_hardware("h10", {"c.json", 3, 4}));
    FAIL("found");
  } catch (const InputError& error) {
    CHECK(says(error.line(), {"c.json:3:4: error: unknown hardware 'h10'", "h100"}));
  }

  const auto path = test::temporary_path("hardware.json");
  std::ofstream(path) << R"({"like": "a100", "network": {"rate": "100Gbit/s"}})";
  const auto own = find_hardware(path.string(), {});
  std::filesystem::remove(path);
  CHECK(own->network.bytes_per_second == 12.5e9);
  CHECK(own->network.efficiency == 0.9);
  CHECK(own->name == path.stem().string());
}

}  // namespace pipeloom::io::hardware_file_test
