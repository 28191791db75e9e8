// Any bytes as a suite, and as edits of a configuration. Suites that name files or patterns are only read, never run.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/io/json_value.hpp"
#include "study/suite.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const study::Suite suite = study::parse_suite(io::Document::parse(text, "suite.json"), "suite.json");
    for (const auto& one : suite.cases)
      if (one.where.line <= 0) __builtin_trap();
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const Error& error) {
    if (error.line().find('\n') != std::string::npos) __builtin_trap();
  }
  try {
    io::Document document;
    document.set_option(text);
    document.set_option(text);
    if (io::Document::parse(document.root().canonical_text(), "again").root().canonical_text() !=
        document.root().canonical_text())
      __builtin_trap();
  } catch (const InputError& error) {
    if (error.line().find('\n') != std::string::npos) __builtin_trap();
  }
  return 0;
}
