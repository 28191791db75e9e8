#pragma once

// Configurations from text, and the error of evaluating one.

#include <string>

#include <pipeloom/error.hpp>
#include "sim/io/config/config.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::test {

/// The configuration of this text. Throws InputError if it is none.
inline io::Config config_of(const std::string& text) {
  return io::read_run_config(io::Document::parse(text, "c").root());
}

/// The line of the error that evaluating the configuration of this text gives; "accepted" if there is none.
inline std::string evaluation_error(const std::string& text) {
  try {
    (void)study::evaluate(config_of(text));
  } catch (const Error& error) {
    return error.line();
  }
  return "accepted";
}

}  // namespace pipeloom::test
