#pragma once

// The options of a command, as data: the parser (cli/parse.hpp), help, the manual page, shell completion and errors of usage read them.
//
//   list.positional("FILE", options->file, "FILE", "Configuration or schedule file").required();
//   list.option("-o,--output", options->out, "FILE", "Write the report");
//   list.flag("--force", options->force, "Overwrite an existing file");

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pipeloom::cli {

/// Texts that some flags ask for instead of a run.
enum class Call : unsigned char { Brief, Help, Version };

/// The variable that receives a value. Values are texts: commands check them, with error messages in our words. An option that is not given
/// leaves its variable unchanged.
using Target =
    std::variant<Call, bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*>;

/// An option, a flag or a positional.
struct Argument {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional its only one, "CONFIG"
  Target target;
  /// Name of the value in help; shell completion derives its words from it (cli/completion.hpp): "FILE", "SCHEDULE", "a|b|c"; "" of a flag.
  std::string type;
  std::string help;
  bool is_positional = false;
  bool is_required = false;
  bool is_repeatable = false;
  char separator = '\0';  ///< '\0': a value is not split
  std::optional<int> least;
  std::string heading;
  std::vector<std::string> excluded;

  Argument& required();
  /// The option may be given again, and all values are kept.
  Argument& repeatable();
  /// A value is split at each `sign`, and all parts are kept.
  Argument& separated_by(char sign);
  /// A positional of at least `number` values, which are all kept; fewer are an error.
  Argument& at_least(int number);
  /// Help shows it below a heading of its own.
  Argument& under(std::string text);
  /// The other option is in the same list and need not exclude this one too.
  Argument& excludes(std::string name);

  [[nodiscard]] bool takes_value() const;
  [[nodiscard]] bool keeps_all() const { return is_repeatable || separator != '\0' || least; }
};

/// Options in the order in which help shows them. Targets must live until the arguments are read.
class OptionList {
 public:
  /// `names` are separated by commas, short ones first; `value` is one that Target knows. The returned reference is valid until the next is added.
  template <class Value>
  Argument& option(std::string_view names, Value& value, std::string_view type, std::string_view help) {
    return add(names, &value, type, help);
  }
  /// An argument without a name in front of it.
  template <class Value>
  Argument& positional(std::string_view name, Value& value, std::string_view type, std::string_view help) {
    Argument& added = add(name, &value, type, help);
    added.is_positional = true;
    return added;
  }
  Argument& flag(std::string_view names, bool& value, std::string_view help);
  /// Adds -h, which leaves out options under headings and the text below the options, and --help.
  void help_flag();
  void version_flag(std::string_view names);

  /// Sets the text of help below the options.
  void set_footer(std::string text) { footer_ = std::move(text); }
  /// Puts the words after the command into `words` unread.
  void pass_on(std::vector<std::string>& words) { passed_on_ = &words; }

  [[nodiscard]] const std::vector<Argument>& all() const { return options_; }
  [[nodiscard]] const std::string& footer() const { return footer_; }
  /// Null if arguments are read.
  [[nodiscard]] std::vector<std::string>* passed_on() const { return passed_on_; }

 private:
  Argument& add(std::string_view names, Target target, std::string_view type, std::string_view help);

  std::vector<Argument> options_;
  std::string footer_;
  std::vector<std::string>* passed_on_ = nullptr;
};

}  // namespace pipeloom::cli
