#include "study/suite/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/number_text.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::study {
namespace {

using io::Value;
using io::ValueKind;

void require_kind(const Value& value, ValueKind kind, std::string_view advice) {
  if (!value.is(kind))
    throw InputError(value.where(), fmt::format("found {} where a baseline has {}; {}", value.described(),
                                                io::name_of(kind), advice));
}

CaseResult read_row(const std::string& name, const Value& row, std::string_view advice) {
  require_kind(row, ValueKind::Object, advice);
  CaseResult out;
  out.name = name;
  const auto text = [&row, advice](const char* key) {
    const Value* value = row.find(key);
    if (value != nullptr) require_kind(*value, ValueKind::String, advice);
    return value != nullptr ? value->text() : std::string();
  };
  out.input = text("input");
  out.status = text("status");
  out.orders = text("orders");
  out.timeline = text("timeline");
  if (const Value* metrics = row.find("metrics")) {
    require_kind(*metrics, ValueKind::Object, advice);
    for (std::size_t i = 0; i < metrics->keys().size(); ++i) {
      require_kind(metrics->items()[i], ValueKind::Number, advice);
      out.metrics.emplace_back(metrics->keys()[i].name, metrics->items()[i].text());
    }
  }
  return out;
}

void write_row(io::JsonWriter& out, const CaseResult& row) {
  out.object().line(6).member("input", row.input).line(6).member("status", row.status);
  if (!row.metrics.empty()) {
    out.line(6).key("metrics").object();
    for (const auto& [name, number] : row.metrics) out.line(8).key(name).raw(number);
    out.close(6);
  }
  if (!row.orders.empty()) out.line(6).member("orders", row.orders);
  if (!row.timeline.empty()) out.line(6).member("timeline", row.timeline);
  out.close(4);
}

double number_of(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Without zeros at either end: "-12.50" is -, 125, -1.
struct Digits {
  bool negative = false;
  std::string digits;
  long exponent = 0;
  friend bool operator==(const Digits&, const Digits&) = default;
};

std::optional<Digits> digits_of(const std::string& text) {
  const auto number = split_number(text);
  if (!number) return std::nullopt;
  Digits out{number->negative, std::string(number->integer) + std::string(number->fraction),
             number->exponent - static_cast<long>(number->fraction.size())};
  out.digits.erase(0, out.digits.find_first_not_of('0'));
  while (!out.digits.empty() && out.digits.back() == '0') {
    out.digits.pop_back();
    ++out.exponent;
  }
  return out.digits.empty() ? Digits{} : out;
}

/// True if two texts are the same number. A program that rewrote the file may have kept a fraction as a double, but whole numbers are compared
/// digit by digit.
bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = digits_of(a);
  const auto y = digits_of(b);
  if (!x || !y) return false;
  const bool whole = x->exponent >= 0 && y->exponent >= 0;
  return *x == *y || (!whole && number_of(a) == number_of(b));
}

const std::string* metric_in(const CaseResult& row, const std::string& name) {
  for (const auto& [key, text] : row.metrics)
    if (key == name) return &text;
  return nullptr;
}

/// Nullopt if the change is within the tolerance.
std::optional<Change> compare_metric(const CaseResult& before, const std::string& name,
                                     const std::string& after,
                                     const std::map<std::string, Tolerance>& tolerance) {
  const std::string* old = metric_in(before, name);
  if (old == nullptr) return Change{before.name, name, "", after, Verdict::New};
  if (same_number(*old, after)) return std::nullopt;
  const double was = number_of(*old);
  const double is = number_of(after);
  const auto found = tolerance.find(name);
  if (found != tolerance.end() &&
      std::abs(is - was) <= std::max(found->second.absolute, found->second.relative * std::abs(was)))
    return std::nullopt;
  const Better better = find_metric(name).better;
  Verdict verdict = Verdict::Changed;
  if (better != Better::Neither && is != was)
    verdict = (is < was) == (better == Better::Lower) ? Verdict::Better : Verdict::Worse;
  return Change{before.name, name, *old, after, verdict};
}

bool times_may_move(const std::map<std::string, Tolerance>& tolerance) {
  return std::any_of(tolerance.begin(), tolerance.end(), [](const auto& row) {
    return find_metric(row.first).unit == Unit::Time && (row.second.absolute > 0 || row.second.relative > 0);
  });
}

}  // namespace

std::map<std::string, CaseResult> read_baseline(const std::string& path, std::string_view advice) {
  const io::Document document = io::Document::parse(io::read_file(path, io::kMaxDocumentBytes), path);
  const Value& root = document.root();
  require_kind(root, ValueKind::Object, advice);
  const Value* version = root.find("schema_version");
  if (version == nullptr || version->text() != "1")
    throw InputError(version ? version->where() : root.where(),
                     fmt::format("no baseline of schema_version 1; {}", advice));
  const Value* cases = root.find("cases");
  if (cases == nullptr) throw InputError(root.where(), fmt::format("\"cases\" is missing; {}", advice));
  require_kind(*cases, ValueKind::Object, advice);
  std::map<std::string, CaseResult> out;
  for (std::size_t i = 0; i < cases->keys().size(); ++i) {
    const std::string& name = cases->keys()[i].name;
    out.emplace(name, read_row(name, cases->items()[i], advice));
  }
  return out;
}

void write_baseline(std::ostream& stream, const std::map<std::string, CaseResult>& rows) {
  io::TextWriter text(stream);
  io::JsonWriter out(text);
  out.object().line(2).member("schema_version", 1).line(2).key("cases").object();
  for (const auto& [name, row] : rows) write_row(out.line(4).key(name), row);
  out.line(2).close().close(0);
  text << '\n';
  text.flush();
}

std::vector<Change> compare_rows(const CaseResult& before, const CaseResult& after,
                                 const std::map<std::string, Tolerance>& tolerance) {
  std::vector<Change> out;
  const auto compare = [&](const char* what, const std::string& was, const std::string& is) {
    if (was != is) out.push_back({after.name, what, was, is, Verdict::Changed});
  };
  compare("input", before.input, after.input);
  compare("status", before.status, after.status);
  for (const auto& [name, text] : after.metrics)
    if (auto change = compare_metric(before, name, text, tolerance)) out.push_back(std::move(*change));
  for (const auto& [name, text] : before.metrics)
    if (metric_in(after, name) == nullptr) out.push_back({after.name, name, text, "", Verdict::Gone});
  compare("orders", before.orders, after.orders);
  if (!times_may_move(tolerance)) compare("timeline", before.timeline, after.timeline);
  return out;
}

}  // namespace pipeloom::study
