#!/usr/bin/env python3
"""Plants one violation of each rule and expects it to be found, at its line; and a clean tree to pass."""

import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import counted_names
import drawn_texts
import equal_names
import include_direction
import message_text
import phrases
import sentences
import text_rules

CLEAN = {
    "sim/CMakeLists.txt": "pipeloom_layer(sim\n  SOURCES\n    analysis/dag.cpp\n    op.cpp)\n",
    "sim/op.hpp": "#pragma once\n\n#include <vector>\n",
    "sim/op.cpp": '#include "sim/op.hpp"\n',
    "sim/analysis/dag.hpp": '#pragma once\n\n#include "sim/analysis/dag_inside.hpp"\n',
    "sim/analysis/dag.cpp": '#include "sim/analysis/dag.hpp"\n\n#include <boost/graph/adjacency_list.hpp>\n',
    "sim/analysis/dag_inside.hpp": "#pragma once\n",
    "sim/io/json.hpp": '#pragma once\n\n#include "sim/op.hpp"\n#include "version.hpp"\n',
    "schedules/gpipe.hpp": '#pragma once\n\n#include "sim/op.hpp"\n',
}


def include_violations(planted):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**CLEAN, **planted}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return include_direction.violations(root)


class IncludeDirection(unittest.TestCase):
    def expect(self, planted, *starts):
        found = include_violations(planted)
        self.assertEqual(len(found), len(starts), found)
        for line, start in zip(found, starts):
            self.assertTrue(line.startswith(start), line)

    def test_clean_tree_passes(self):
        self.expect({})

    def test_core_may_not_include_a_schedule(self):
        self.expect({"sim/bad.hpp": '#pragma once\n#include "schedules/gpipe.hpp"\n'}, "sim/bad.hpp:2: sim includes")

    def test_schedules_may_not_include_io(self):
        self.expect({"schedules/bad.hpp": '#include "sim/io/json.hpp"\n'}, "schedules/bad.hpp:1: schedules includes")

    def test_headers_are_named_from_the_root(self):
        self.expect({"sim/bad.hpp": '#include "op.hpp"\n'}, 'sim/bad.hpp:1: "op.hpp" is not a file')

    def test_heavy_header_in_a_header(self):
        self.expect({"sim/io/bad.hpp": "\n#include <nlohmann/json.hpp>\n"}, "sim/io/bad.hpp:2: nlohmann/json.hpp in a header")

    def test_heavy_header_in_a_wrong_room(self):
        cmake = {"sim/CMakeLists.txt": "SOURCES\nanalysis/dag.cpp\nbad.cpp\nop.cpp\n"}
        self.expect({**cmake, "sim/bad.cpp": "#include <nlohmann/json.hpp>\n"}, "sim/bad.cpp:1: nlohmann/json.hpp in sim;")

    def test_header_of_few_sources(self):
        include = "#include <CLI/App.hpp>\n"
        cmake = {"cli/CMakeLists.txt": "parse.cpp\ncommands/bad.cpp\n", "tests/cli/CMakeLists.txt": "bad_test.cpp\n"}
        bad = {"cli/commands/bad.cpp": include, "tests/cli/bad_test.cpp": include}
        self.expect({**cmake, "cli/parse.cpp": include, **bad},
                    "cli/commands/bad.cpp:1: CLI/App.hpp is for cli/parse.cpp and gui/program.cpp alone;",
                    "tests/cli/bad_test.cpp:1: CLI/App.hpp is for cli/parse.cpp and gui/program.cpp alone;")

    def test_wrapper_of_a_heavy_header_in_a_header(self):
        wrapper = {"sim/analysis/dag_boost.hpp": "#include <boost/graph/graph_traits.hpp>\n"}
        bad = {"sim/analysis/bad.hpp": '#include "sim/analysis/dag_boost.hpp"\n'}
        self.expect({**wrapper, **bad}, "sim/analysis/bad.hpp:1: sim/analysis/dag_boost.hpp in a header")

    def test_own_header_comes_first(self):
        text = '#include <vector>\n\n#include "sim/op.hpp"\n'
        self.expect({"sim/op.cpp": text}, "sim/op.cpp:1: first include is vector")

    def test_no_views(self):
        self.expect({"sim/bad.hpp": "#pragma once\nauto x = std::" + "views::iota(0);\n"}, "sim/bad.hpp:2: std::views")

    def test_a_source_must_be_listed(self):
        self.expect({"sim/cost/new.cpp": "int x;\n"}, "sim/cost/new.cpp:1: in no CMakeLists.txt")

    def test_a_source_may_be_listed_by_another_folder_or_by_its_program(self):
        sources = {"tests/support/a.cpp": "int a;\n", "tests/fuzz/fuzz_b.cpp": "int b;\n"}
        lists = {"tests/sim/CMakeLists.txt": "../support/a.cpp\n", "tests/fuzz/CMakeLists.txt": "pipeloom_fuzzer(b LIBS x)\n"}
        self.expect({**sources, **lists})

    def test_a_room_stands_on_lower_ones_only(self):
        self.expect({"sim/bad.hpp": '#include "sim/analysis/dag.hpp"\n'}, 'sim/bad.hpp:1: sim includes "sim/analysis/dag.hpp"')
        with mock.patch.dict(include_direction.MAY_INCLUDE, {"sim": ["sim/base", "sim/analysis"]}):
            self.assertIn("sim", include_direction.circles())
        self.assertEqual(include_direction.circles(), [])

    def test_what_is_inside_a_room_stays_there(self):
        self.expect({"sim/draw/bad.hpp": '#include "sim/analysis/dag_inside.hpp"\n'},
                    'sim/draw/bad.hpp:1: "sim/analysis/dag_inside.hpp" is inside sim/analysis')

    def test_a_room_of_a_room_is_meant_by_its_star(self):
        self.assertTrue(include_direction.covers("sim/*", "sim/io/json"))
        self.assertFalse(include_direction.covers("sim", "sim/io/json"))
        self.assertFalse(include_direction.covers("executor/*", "executor/cuda/run"))
        self.assertTrue(include_direction.covers("executor/cuda/*", "executor/cuda/run"))

    def test_a_folder_is_not_crowded(self):
        most = include_direction.MOST_FILES
        many = {f"sim/draw/h{i:02}.hpp": "#pragma once\n" for i in range(most + 1)}
        self.expect(many, f"sim/draw:1: {most + 1} files, at most {most}")
        self.expect({f"schedules/h{i:02}.hpp": "#pragma once\n" for i in range(most + 1)})

    def test_the_face_includes_itself_and_the_standard_library(self):
        face = "include/pipeloom/"
        self.expect({face + "op.hpp": "#include <vector>\n", face + "more.hpp": "#include <pipeloom/op.hpp>\n",
                     "sim/user.hpp": "#include <pipeloom/op.hpp>\n"})
        self.expect({face + "bad.hpp": '#include "sim/op.hpp"\n'}, face + "bad.hpp:1: sim/op.hpp in the face")
        self.expect({face + "bad.hpp": "#include <fmt/format.h>\n"}, face + "bad.hpp:1: fmt/format.h in the face")
        self.expect({"sim/bad.hpp": "#include <pipeloom/gone.hpp>\n"}, "sim/bad.hpp:1: <pipeloom/gone.hpp> is not a file")

    def test_a_folder_must_have_a_row(self):
        self.expect({"extra/new.hpp": "#pragma once\n"}, "extra/new.hpp:1: in no room")


class EqualNames(unittest.TestCase):
    CMAKE = "pipeloom_layer(sim\n  SOURCES\n    a.cpp\n    b.cpp\n  PEERS\n    c.cpp)\n"

    def expect(self, a, b, *shown):
        """What `b` has in common with `a`, both in the namespace without a name of another; c.cpp is compiled by itself."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "sim").mkdir()
            (root / "sim/CMakeLists.txt").write_text(self.CMAKE)
            for name, text in (("a", a), ("b", b), ("c", a + b)):
                (root / f"sim/{name}.cpp").write_text(f"namespace pipeloom {{\nnamespace {{\n\n{text}\n}}  // namespace\n}}  // namespace pipeloom\n")
            found = equal_names.violations(root)
        self.assertEqual(len(found), len(shown), found)
        for line, start in zip(found, shown):
            self.assertTrue(line.startswith(start), line)

    def test_different_names_pass(self):
        self.expect("int one() {\n  return 1;\n}\n", "constexpr int kOne = 1;\n")

    def test_constants_types_and_functions(self):
        self.expect("constexpr int kMost = 1;\n", "constexpr double kMost = 2;\n", "sim/b.cpp:4: kMost stands in sim/a.cpp:4")
        self.expect("struct Place {\n  int x;\n};\n", "\nclass Place {};\n", "sim/b.cpp:5: Place stands in sim/a.cpp:4")
        self.expect("int f(int a) {\n  return a;\n}\n", "/* int */\ndouble f(int b) {\n  return b;\n}\n", "sim/b.cpp:5: f(int) stands")

    def test_overloads_pass(self):
        self.expect("int f(int a) {\n  return a;\n}\n", "int f(long a,\n      int b) {\n  return b;\n}\n")

    def test_aliases_of_one_type_pass(self):
        self.expect("using Wide = long;\n", "using Wide = long;\n")
        self.expect("using Wide = long;\n", "using Wide = int;\n", "sim/b.cpp:4: Wide stands")

    def test_what_stands_in_bodies_and_comments_passes(self):
        self.expect("int f() {\n  const int k = 1;\n  return k;\n}\n// int g();\n", 'int g() {\n  const int k = 2;\n  return k;\n}\nint h = 0;\n')


class MessageText(unittest.TestCase):
    def expect(self, code, *shown):
        found = [argument for _at, argument in message_text.violations_in("cli/a.cpp", code)]
        self.assertEqual(found, list(shown))

    def test_what_is_shown_by_shortened_passes(self):
        self.expect('fmt::format("found \'{}\' in {}", shortened(text, 80), file)\n"\'" + shortened(a, 8) + "\'"')

    def test_quoted_argument_of_a_format(self):
        self.expect('fmt::format("{} is "\n "\'{}\', {:>{}}", what, one(a, b), x, width)', "one(a, b)")

    def test_quoted_text_that_is_joined(self):
        self.expect('"found \'" + text + "\'; allowed is"', "text")

    def test_comments_and_braces_that_stand_for_themselves(self):
        self.expect('// fmt::format("\'{}\'", a)\nfmt::format("{{}} \'{}\'", text)', "text")


    def test_only_the_console_writes_to_terminals(self):
        code = 'std::cerr << name;\n// std::cout << "a comment"\nstd::cout.flush();\nfmt::print("{}", name);\n'
        self.assertEqual(message_text.direct_writes("cli/a.cpp", code), [0, code.index("fmt::print")])
        self.assertEqual(message_text.direct_writes("cli/console.cpp", code), [])


class DrawnTexts(unittest.TestCase):
    def expect(self, text, *lines):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "gui").mkdir()
            (root / "gui/a.cpp").write_text(text)
            (root / "gui/texts.cpp").write_text("draw.AddText(at);\n")
            found = drawn_texts.violations(root)
        self.assertEqual([line.split(":")[1] for line in found], [str(line) for line in lines], found)

    def test_texts_that_are_noted_pass(self):
        self.expect('text_item("a");\nImGui::Selectable("##row", false);\n// ImGui::Text("a")\nImGui::BeginMenuBar();\n')

    def test_bare_texts_are_found(self):
        self.expect('ImGui::Text("a");\n\nImGui::TextUnformatted(a);\nImGui::SetTooltip("a");\n', 1, 3, 4)
        self.expect('list->AddText(at, ink, "a");\nImGui::Selectable(name, false);\n', 1, 2)


class TextRules(unittest.TestCase):
    def expect(self, text, *lines):
        found = text_rules.violations_in("docs/a.md", text.encode())
        self.assertEqual([line.split(":")[1] for line in found], [str(line) for line in lines], found)

    def test_clean_text_passes(self):
        self.expect("one\n\ntwo\n")

    def test_absolute_path(self):
        self.expect("one\nsee /" + "home/someone/file\n", 2)

    def test_unfinished_business(self):
        self.expect("// TO" + "DO later\n", 1)

    def test_trailing_blank(self):
        self.expect("one \n", 1)

    def test_carriage_return(self):
        self.expect("one\r\n", 1)

    def test_last_line_feed(self):
        self.expect("one", 1)
        self.expect("one\n\n", 3)

    def test_not_utf8(self):
        self.assertEqual(len(text_rules.violations_in("a.md", b"\xff\n")), 1)

    def test_recorded_files_stand(self):
        self.assertEqual(text_rules.violations_in("tests/golden/a.txt", b"one "), [])

    def test_tests_stand_in_their_namespace(self):
        self.assertEqual(text_rules.bare_helpers("tests/a_test.cpp", "namespace a_test {\n"), [])
        self.assertEqual(text_rules.bare_helpers("tests/a_test.cpp", "namespace pipeloom::io::a_test {\n"), [])
        found = text_rules.bare_helpers("tests/a_test.cpp", "namespace pipeloom {\nTEST_CASE(\"a\") {}\n")
        self.assertEqual(found, ["tests/a_test.cpp:1: stands in no namespace a_test"])

    def test_names_of_tests_stay_whole(self):
        text = 'TEST_CASE("one") {}\nTEST_CASE(\n    "two; "\n    "three") {}\nTEST_CASE("a; " + b)\n'
        found = text_rules.split_test_names("a_test.cpp", text)
        self.assertEqual([line.split(":")[1] for line in found], ["2", "5"])

    def test_links_lead_somewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "docs" / "b.md").write_text("# b\n\n## One `part`, two\n\n```\n# no heading\n```\n")
            page = "[b](b.md#one-part-two) [web](https://example.org/x#y)\n[up](../gone.md)\n[b](b.md#no-heading) [b](b.md#b)\n"
            found = text_rules.broken_links(root, "docs/a.md", page)
            self.assertEqual(found, ["docs/a.md:2: link to ../gone.md, which does not exist",
                                     "docs/a.md:3: link to b.md#no-heading, which has no such heading"])


class Phrases(unittest.TestCase):
    TEXTS = {"sim/a.hpp": "/// What it holds.\nint a;  ///< What it is\n  // What follows\n/// Bytes: what it holds.\n",
             "gui/b.py": 'def f():\n    """Whether it stands behind."""\n    upstand = 1\n'}

    def found(self, index, allowed):
        phrase, pattern, _, better = phrases.MOST[index]
        return phrases.violations(self.TEXTS, [(phrase, pattern, allowed, better)])

    def test_comments_that_begin_with_the_word_are_counted_at_their_lines(self):
        self.assertEqual(phrases.places(self.TEXTS, phrases.MOST[0][1]), ["sim/a.hpp:1", "sim/a.hpp:3"])
        self.assertEqual(phrases.places(self.TEXTS, phrases.MOST[1][1]), ["gui/b.py:2"])

    def test_whole_words_are_counted(self):
        self.assertEqual([phrases.places(self.TEXTS, row[1]) for row in phrases.MOST if row[0] in ("stand", "behind")], [["gui/b.py:2"]] * 2)

    def test_more_is_a_violation_and_less_lowers_the_table(self):
        self.assertEqual(self.found(0, 2), [])
        self.assertIn("2 times, 1 are allowed", self.found(0, 1)[0])
        self.assertIn("lower it to 2", self.found(0, 3)[0])


class Sentences(unittest.TestCase):
    @staticmethod
    def page(words):
        return " ".join(["word"] * words) + ".\n"

    def test_forty_words_pass(self):
        self.assertEqual(sentences.long_sentences(self.page(40)), [])
        self.assertEqual(sentences.long_sentences(self.page(41)), [(1, 41, " ".join(["word"] * 8))])

    def test_each_sentence_item_and_cell_counts_alone(self):
        half = " ".join(["Word"] * 30)
        self.assertEqual(sentences.long_sentences(f"{half}. {half}.\n- {half}\n- {half}\n| {half} | {half} |\n"), [])
        self.assertEqual([line for line, _, _ in sentences.long_sentences(f"{half}.\n\n{half}\n{half.lower()}\n")], [3])

    def test_code_is_one_word_and_blocks_are_none(self):
        code = " ".join(["x"] * 60)
        self.assertEqual(sentences.long_sentences(f"Run `{code}` now.\n\n```\n{code}\n```\n\n    {code}\n"), [])


class CountedNames(unittest.TestCase):
    ROW = {"what": r"\bbubble\b(?!\()", "limit": 2, "but": ["schedules"]}
    NAMED = {
        "sim/metrics.hpp": "double bubble = 0;\n",
        "study/metric.cpp": '{.name = "bubble"},\n',
        "study/other.cpp": "return bubble(schedule); // of bubbles\n",
        "schedules/gpipe.cpp": '"bubble = (p - 1)/m"\n',
        "docs/metrics.md": "bubble\n",
        "tests/metrics_test.cpp": "CHECK(metrics.bubble == 0);\n",
    }

    def found(self, planted):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {**self.NAMED, **planted}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return counted_names.violations(root, [self.ROW])

    def test_as_many_files_as_the_row_allows(self):
        self.assertEqual(self.found({}), [])

    def test_one_file_more(self):
        found = self.found({"gui/state.cpp": 'out["bubble"] = 1;\n'})
        self.assertEqual(len(found), 1, found)
        self.assertIn("3 files name", found[0])
        self.assertIn("gui/state.cpp", found[0])

    def test_prose_of_schemas_counts(self):
        self.assertEqual(len(self.found({"study/schemas/report.json": '"description": "the bubble"\n'})), 1)

    def test_functions_are_counted_where_they_are_declared(self):
        pattern = re.compile(counted_names.tool("join", 1, r"(?:const )?std::")["what"])
        for declared in ("std::string join(const std::vector<std::string>& texts) {\n", "[[nodiscard]] std::string& join(std::string a);\n",
                         "x\njoin(std::string a) {\n", "  const auto join = [](auto a) { return a; };\n"):
            self.assertTrue(pattern.search(declared), declared)
        for other in ("  out += join(std::move(a));\n", "void Words::join(std::string a) {\n", "// join(std::string)\n",
                      "Schedule join(const Schedule& a);\n", "std::string rejoin(std::string a);\n"):
            self.assertFalse(pattern.search(other), other)

    def test_every_row_finds_its_name(self):
        root = Path(__file__).resolve().parents[2]
        files = list(counted_names.product_files(root))
        for row in counted_names.COUNTED:
            self.assertTrue(counted_names.holders(files, row), row)


if __name__ == "__main__":
    unittest.main()
