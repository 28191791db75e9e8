#pragma once

// Scripts that drive the window: one command a line, `#` begins a comment. The window is tested with them, and its pictures are
// made with them.
//
//   open FILE                        set KEY VALUE                 do COMMAND [ARG]          (an id of the command palette)
//   key CHORD [FRAMES]               type "text"                   move T
//   click T [HELD] [BUTTON]          double T [HELD]               drag T T [HELD] [BUTTON]  wheel N T [HELD]
//   right-click T [HELD]
//   wait idle [MS]                   wait MS                       expect /json/pointer OP VALUE
//   expect-error [TEXT]              screenshot FILE.png [--force] state FILE.json [--force]
//   size W H                         scale S                       theme dark|light      quit
//
// T is a place: `X,Y` in pixels, `op:RANK/0F7`, `gap:RANK/N`, `rank:RANK` (its name), `legend:F`, or `item:params/ranks`. HELD is `ctrl`, `shift`,
// `alt` or `ctrl+shift`; BUTTON is `left`, `right` or `middle`. OP is one of == != < <= > >= contains size; VALUE is JSON, or a bare text. `contains`
// looks for a part of a text (or of a text in an array), an entry of an array or a key of an object; `size N` counts them. `exists` and `absent` take
// no value. A failing `open`, `set` or `do` fails the script, and so does one after which the configuration cannot run, unless `expect-error` comes
// before it: then it must fail, and its message must contain TEXT. A word with blanks is written in double quotes, as JSON writes texts.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/session/keys.hpp"

namespace pipeloom::gui {

enum class ScriptVerb : std::uint8_t {
  Open,
  Set,
  Do,
  Key,
  Type,
  Move,
  Click,
  Double,
  Drag,
  Wheel,
  WaitIdle,
  WaitMs,
  Expect,
  ExpectError,
  Screenshot,
  State,
  Size,
  Scale,
  Theme,
  Quit
};

enum class Comparison : std::uint8_t {
  Equal,
  Unequal,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  Contains,
  Size,
  Exists,
  Absent
};

/// A place on screen, as written. Only the program knows where "op:2/0F7" is right now.
struct ScriptTarget {
  std::string text;
  /// The target is `X,Y`.
  bool is_point = false;
  float x = 0;
  float y = 0;
};

/// One line. Which fields are meant follows from the verb.
struct ScriptCommand {
  Where where;  ///< of the verb
  ScriptVerb verb = ScriptVerb::Quit;
  /// Open, Screenshot, State: the file. Set: the key. Do: the command. Type: the typed text. Theme: its name. Expect: the pointer.
  /// ExpectError: the text, perhaps "". Screenshot and State: perhaps with " --force".
  std::string word;
  /// Set: the value. Do: the argument. Expect: the value.
  std::string value;
  Comparison comparison = Comparison::Equal;
  Chord chord;  ///< Key; for pointer verbs the modifiers held (key None)
  MouseButton button = MouseButton::Left;
  std::vector<ScriptTarget> targets;  ///< two for Drag
  double number = 0;                  ///< Wheel: steps. Key: frames. waits: milliseconds. Scale.
  int width = 0;
  int height = 0;
};

using Script = std::vector<ScriptCommand>;

/// `file` is the name in messages. Throws InputError with file, line and column of the first word that cannot be meant. Commands that
/// `do` names must exist.
[[nodiscard]] Script parse_script(std::string_view text, const std::string& file);

/// "==", "contains".
[[nodiscard]] std::string_view name_of(Comparison comparison);

/// The keys and indices of a JSON pointer, from the outermost: "/a~1b/0" is "a/b", "0". Nullopt for a text that is no pointer.
[[nodiscard]] std::optional<std::vector<std::string>> pointer_keys(std::string_view pointer);

/// Says how `state` (the state dump) differs, or "" if the expectation holds: "/runs/0/ranks is 4; wanted == 8".
/// REQUIRES: expectation is an Expect of parse_script().
[[nodiscard]] std::string check_expectation(const ScriptCommand& expectation, const std::string& state);

}  // namespace pipeloom::gui
