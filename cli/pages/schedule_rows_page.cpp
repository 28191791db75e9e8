#include "cli/pages/schedule_rows_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/draw/words.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::cli {
namespace {

using study::Align;
using study::ScheduleRow;

constexpr std::size_t kWhyIndent = 4;

TickSum time_of_update(const ScheduleRow& row) {
  return TickSum(row.step_time / row.updates);
}

std::string row_name(const ScheduleRow& row) {
  return row.chunks == 1 ? row.name : fmt::format("{} v={}", row.name, row.chunks);
}

/// Columns that some row has something for.
struct Shown {
  bool limit = false;
  bool rates = false;
};

std::vector<std::string> cells_of_row(const ScheduleRow& row, const Shown& shown, TimeUnit unit) {
  std::vector<std::string> cells = {row_name(row), study::time_text(time_of_update(row), unit),
                                    percent_text(row.bubble_ratio), row.held_text};
  if (shown.limit) {
    cells.push_back(row.headroom_text);
    cells.emplace_back(row.fits() ? "yes" : "no");
  }
  if (shown.rates) {
    cells.push_back(row.tokens_per_s ? study::rate_text(*row.tokens_per_s) : "-");
    cells.push_back(row.mfu ? percent_text(*row.mfu) : "-");
  }
  cells.push_back(percent_text(row.gap));
  return cells;
}

study::Table table_of_rows(const std::vector<ScheduleRow>& rows) {
  Shown shown;
  for (const ScheduleRow& row : rows) {
    shown.limit = shown.limit || row.headroom.has_value();
    shown.rates = shown.rates || row.tokens_per_s.has_value();
  }
  std::vector<study::Column> columns = {{"schedule", Align::Left},
                                        {"step time", Align::Right},
                                        {"bubble", Align::Right},
                                        {"peak memory", Align::Right}};
  if (shown.limit) columns.insert(columns.end(), {{"headroom", Align::Right}, {"fits", Align::Left}});
  if (shown.rates) columns.insert(columns.end(), {{"tokens/s", Align::Right}, {"MFU", Align::Right}});
  columns.push_back({"above bound", Align::Right});
  study::Table table(std::move(columns));
  for (const ScheduleRow& row : rows)
    if (row.refusal.empty()) table.add_row(cells_of_row(row, shown, row.unit));
  return table;
}

template <class Number>
void number_or_null(io::JsonWriter& out, std::string_view key, const std::optional<Number>& number) {
  out.key(key);
  if (number)
    out.number(*number);
  else
    out.null();
}

void write_row(io::JsonWriter& out, const ScheduleRow& row) {
  out.line(4).object().member("schedule", row.name).member("chunks", row.chunks);
  out.member("runs", row.refusal.empty());
  if (!row.refusal.empty()) {
    out.member("why", row.refusal).close();
    return;
  }
  out.member("time_unit", name_of(row.unit));
  out.key("step_time").ticks(row.step_time / row.updates, row.unit).member("updates", row.updates);
  out.member("bubble_ratio", row.bubble_ratio).member("peak_bytes", row.held);
  number_or_null(out, "headroom_bytes", row.headroom);
  out.member("fits", row.fits());
  number_or_null(out, "tokens_per_s", row.tokens_per_s);
  number_or_null(out, "mfu", row.mfu);
  out.member("above_bound", row.gap).close();
}

}  // namespace

std::string schedule_rows_page(const std::vector<ScheduleRow>& rows, const Screen& screen) {
  std::string out = table_of_rows(rows).text(screen.has_colour());
  const auto width = static_cast<std::size_t>(screen.width);
  bool any = false;
  for (const ScheduleRow& row : rows) {
    if (row.refusal.empty()) continue;
    if (!any) out += "\ncannot run here:\n";
    any = true;
    out += study::wrapped(row_name(row) + ": " + row.refusal, width, kWhyIndent);
  }
  return out;
}

std::string schedule_rows_json(const std::vector<ScheduleRow>& rows) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().line(2).member("schema_version", 1).line(2).key("schedules").array();
                            for (const ScheduleRow& row : rows) write_row(out, row);
                            out.close(2).close(0);
                          }) +
         '\n';
}

}  // namespace pipeloom::cli
