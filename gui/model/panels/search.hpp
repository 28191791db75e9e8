#pragma once

// Finding ops by their properties, in the language of all filters (study/text/expression.hpp):
//
//   stage == 3 && duration > 2ms        all of these; in short, stage:3 dur>2ms
//   type:F,B or critical                either
//   not group    -group                 none of these
//   (stage:0 or stage:3) slack<1        parentheses
//   3F1          3F1.2                  that op
//
//   field       values                   field            values
//   kind, type  F B I W R O L S T        duration, dur    time
//   stage       number                   start, end       time
//   microbatch, mb  number               slack            time: how much later it could start
//   rank        number                   critical         a flag: on the critical path
//   chunk       number                   group            a flag: of an overlapped group
//   slice, step number
//
// Each condition compares a field with a value. A time is a number in the run's unit, or with s, ms, us or ns after it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// A query that was understood. Cheap to copy and free of any run: threads may share it.
class SearchQuery {
 public:
  /// Throws InputError "search:1:COLUMN: ..." naming the allowed words there. `unit` is the unit of bare times; the abstract one takes no s, ms,
  /// us or ns. An empty text finds nothing to ask for: empty().
  [[nodiscard]] static SearchQuery parse(std::string_view text, TimeUnit unit);

  [[nodiscard]] bool empty() const { return program_.empty(); }
  [[nodiscard]] bool asks_slack() const { return asks_slack_; }

  /// Positions in timeline.start that match, ascending. `slack` is run_slack(run); empty: no op's slack is known, nothing with slack matches.
  /// Columns of a few thousand ops are tested term by term: some 2 ns per op and term. Stops early, with the matches so far, when cancelled.
  [[nodiscard]] std::vector<std::size_t> find(const RunModel& run, const std::vector<Ticks>& slack,
                                              const Cancelled& cancelled) const;

  /// In the order of the table of fields (search_parse.cpp).
  enum class Field : std::uint8_t {
    Kind,
    Stage,
    Microbatch,
    Rank,
    Chunk,
    Slice,
    Step,
    Duration,
    Start,
    End,
    Slack,
    Critical,
    Group,
    Op
  };
  /// A test of one field: it lies in one of the ranges, ends included.
  struct Term {
    Field field = Field::Kind;
    bool negated = false;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  };
  /// In postfix order: the operands of an operator come before it.
  struct Step {
    enum class What : std::uint8_t { Term, And, Or, Not } what = What::Term;
    std::size_t term = 0;
  };

 private:
  friend class SearchCompiler;
  std::vector<Term> terms_;
  std::vector<Step> program_;
  bool asks_slack_ = false;
};

/// Positions in timeline.start, ascending.
using Found = std::shared_ptr<const std::vector<std::size_t>>;

/// The search of the session: over every run on screen, its results found by a job. While one is active the chart dims all other ops
/// (ChartPart::matches) and the table of ops shows only these.
class SearchModel : public Part {
 public:
  explicit SearchModel(Session&) {}

  /// Takes the typed text. A text that is not understood sets error() and leaves the results of the last one that was; an empty one clears.
  void set(Session& session, std::string text);
  void clear(Session& session) { set(session, ""); }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// "" if text() was understood.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// Something is searched for: found() counts.
  [[nodiscard]] bool active() const { return !query_text_.empty(); }
  /// Null while nothing is searched for, or the job is under way.
  [[nodiscard]] Found found(std::uint64_t run) const;
  /// O(log found). True for all ops while nothing is searched for.
  [[nodiscard]] bool matches(std::uint64_t run, std::size_t position) const;
  /// The index in found() of the op that is selected in the active run. No value if it is not there.
  [[nodiscard]] std::optional<std::size_t> current(const Session& session) const;
  /// Changes whenever found() does; for caches.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// Selects the next match of the active run after the selected op (rank by rank, in the order of the queues; round the end), and brings
  /// it into view. Waits for the job if need be.
  void step(Session& session, bool forward);

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "search"; }
  /// {"text", "error", "active", "count", "current"}: of the active run; current counts from 0, null if no match is selected.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void understand(const Session& session);
  void submit(Session& session);
  void take(Session& session, const std::vector<std::pair<std::uint64_t, Found>>& results);

  std::string text_;
  std::string error_;
  std::string query_text_;                // the last text that was understood
  std::vector<std::uint64_t> runs_;       // searched, or being searched
  std::map<std::uint64_t, Found> found_;  // by RunModel::id
  std::optional<bool> pending_step_;      // forward or not, once the job is done
  bool under_way_ = false;
  std::uint64_t revision_ = 0;
};

}  // namespace pipeloom::gui
