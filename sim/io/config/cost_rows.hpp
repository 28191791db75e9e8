#pragma once

// Rows of single ops' costs, as JSON objects or as lines of a file: {"kind": "F", "stage": 3, "microbatch": 7, "factor": 1.6}.

#include <string_view>

#include "sim/cost/cost_spec.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/json/text_writer.hpp"

namespace pipeloom::io {

/// The number that a row may have.
enum class RowNumber : unsigned char {
  Time,          ///< "time" alone, as tables do
  TimeOrFactor,  ///< "time", "factor" or "overlapped", one of them
};

/// An array of rows. Throws InputError at the row, or the key in it, that says something else.
[[nodiscard]] cost::CostRows rows_of(const Value& array, const ReadContext& context, RowNumber number);
/// The rows of a file: .csv with a line of names (kind, stage, rank, microbatch, slice: any of them, and time), .jsonl with an object a
/// line, .json with an array. Relative to the file that names it. Throws InputError with the line.
[[nodiscard]] cost::CostRows rows_of_file(const Value& name, const ReadContext& context);
/// The file that a value names, relative to the file that names it: JSON, or a JSON value a line, which are an array then (names that do not
/// end in .json). Throws InputError. `key` is for errors.
[[nodiscard]] Document document_of_file(const Value& name, std::string_view key);
/// True if a time in such a file has a unit. False for a file that cannot be read, for which rows_of_file() throws the reason.
[[nodiscard]] bool file_has_time_literal(const Value& name);
/// Writes the rows as a JSON array.
void write_rows(TextWriter& out, const std::vector<cost::CostRow>& rows, TimeUnit unit);

}  // namespace pipeloom::io
