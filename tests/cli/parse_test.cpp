#include "cli/parse.hpp"

#include "support/catch.hpp"

namespace parse_test {

using namespace pipeloom;
using namespace pipeloom::cli;

namespace {

using Texts = std::vector<std::string>;

/// A program with a command that takes every kind of option, one that takes none and one that does not read.
struct Toy {
  Texts files, set, include, words;
  std::string out = "-";
  std::string file;
  std::optional<std::string> format;
  bool json = false;
  bool force = false;
  CommandLine line{.program = "toy", .summary = "Plays", .options = {}};

  Toy() {
    line.options.help_flag();
    line.options.version_flag("--version");
    OptionList& list = line.add_command("go", "Goes").options;
    list.positional("FILES", files, "FILE", "What to read").required().at_least(1);
    list.option("-o,--output", out, "FILE", "Where to").under("Writing");
    list.option("--set", set, "KEY=VALUE", "Any").repeatable();
    list.option("--include", include, "a|b", "Parts").separated_by(',');
    list.option("--format,--to", format, "table|json", "What");
    list.flag("--json", json, "As JSON").excludes("--format");
    list.flag("--force", force, "Overwrite");
    line.add_command("idle", "Takes nothing");
    line.add_command("note", "Takes assignments")
        .options.option("--set", set, "KEY=VALUE", "Any")
        .repeatable();
    OptionList& open = line.add_command("open", "Takes a file and assignments").options;
    open.positional("FILE", file, "FILE", "What to open");
    open.option("--set", set, "KEY=VALUE", "Any").repeatable();
    line.add_command("rest", "Passes on").options.pass_on(words);
  }

  Parsed read(Texts arguments) { return parse(line, std::move(arguments)); }
};

std::string error_of(Texts arguments) {
  try {
    static_cast<void>(Toy().read(std::move(arguments)));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("values are put where the options want them") {
  Toy toy;
  const Parsed parsed = toy.read({"go", "a", "-o", "x", "--force", "b", "--to=json"});
  REQUIRE(parsed.command != nullptr);
  CHECK(parsed.command->name == "go");
  CHECK_FALSE(parsed.call);
  CHECK(toy.files == Texts{"a", "b"});
  CHECK(toy.out == "x");
  CHECK(toy.format == "json");
  CHECK(toy.force);
}

TEST_CASE("what is not given stays as it was") {
  Toy toy;
  static_cast<void>(toy.read({"go", "a"}));
  CHECK(toy.out == "-");
  CHECK_FALSE(toy.format);
  CHECK_FALSE(toy.force);
  CHECK(toy.set.empty());
}

TEST_CASE("the last one wins, but of lists") {
  Toy toy;
  static_cast<void>(
      toy.read({"go", "a", "--output", "x", "-oy", "--set", "1,2", "--set", "3", "--include=a,b"}));
  CHECK(toy.out == "y");
  CHECK(toy.set == Texts{"1,2", "3"});
  CHECK(toy.include == Texts{"a", "b"});
  CHECK(toy.files == Texts{"a"});
}

TEST_CASE("a word behind a list's value is the command's") {
  Toy toy;
  static_cast<void>(toy.read({"go", "--set", "1", "a", "--include", "x,y", "b", "c"}));
  CHECK(toy.set == Texts{"1"});
  CHECK(toy.include == Texts{"x", "y"});
  CHECK(toy.files == Texts{"a", "b", "c"});
}

TEST_CASE("however many files there are, all are kept") {
  Toy toy;
  Texts arguments{"go"};
  for (int i = 0; i < 100; ++i) arguments.push_back(std::to_string(i));
  static_cast<void>(toy.read(arguments));
  REQUIRE(toy.files.size() == 100);
  CHECK(toy.files.front() == "0");
  CHECK(toy.files.back() == "99");
}

TEST_CASE("help and version are asked for instead of a run") {
  CHECK(Toy().read({"--version"}).call == Call::Version);
  CHECK(Toy().read({"-h"}).call == Call::Brief);
  Toy toy;
  const Parsed parsed = toy.read({"go", "--help"});
  CHECK(parsed.call == Call::Help);
  CHECK(parsed.command == toy.line.find("go"));
  CHECK(toy.read({}).command == nullptr);
}

TEST_CASE("help names types, headings and what excludes an option from both sides") {
  const Toy toy;
  const std::string help = help_text(toy.line, toy.line.find("go"));
  CHECK(holds(help, "Usage: toy go [OPTIONS] FILES"));
  CHECK(holds(help, "Writing:\n  -o,--output FILE"));
  CHECK(holds(help, "not with --json"));
  CHECK(holds(help, "not with --format"));
  CHECK(holds(help, "FILES FILE.."));
  CHECK_FALSE(holds(help, "REQUIRED"));
  CHECK(holds(help_text(toy.line), "rest"));
}

TEST_CASE("the short help leaves out what stands under headings and below the options") {
  Toy toy;
  CHECK(toy.read({"go", "-h"}).call == Call::Brief);
  const std::string help = help_text(toy.line, toy.line.find("go"), Call::Brief);
  CHECK(holds(help, "--format,--to table|json"));
  CHECK_FALSE(holds(help, "Writing:"));
  CHECK(holds(help, "`toy go --help` has more options and examples."));
}

TEST_CASE("what follows a command that passes on is not read") {
  Toy toy;
  CHECK(toy.read({"rest", "a", "--nonsense", "-o"}).command == toy.line.find("rest"));
  CHECK(toy.words == Texts{"a", "--nonsense", "-o"});
}

TEST_CASE("wrong usage is one error that names the nearest right thing") {
  CHECK(holds(error_of({"goo"}), "unknown command 'goo'; did you mean 'go'?"));
  CHECK(holds(error_of({"go", "a", "--forse"}), "unknown option '--forse'; did you mean '--force'?"));
  CHECK(holds(error_of({"-o", "go", "a"}), "'-o' stands before the command; write it after 'go'"));
  CHECK(holds(error_of({"idle", "x"}), "unexpected argument 'x'"));
  CHECK(
      holds(error_of({"note", "--set", "a=1", "b=2"}), "'b=2'; write --set before each of its values; see"));
  CHECK(holds(error_of({"note", "--set", "a=1", "b"}), "unexpected argument 'b'; see"));
  CHECK(holds(error_of({"open", "--set", "a=1", "b=2"}),
              "'b=2' is no file; write --set before each of its values; see"));
  CHECK(error_of({"open", "b"}).empty());
  CHECK(holds(error_of({"go", "a", "-o"}), "--output needs a value"));
  CHECK(holds(error_of({"go"}), "FILES is required"));
  CHECK(holds(error_of({"go", "a", "--json", "--to", "json"}), "excludes"));
}

}  // namespace parse_test
