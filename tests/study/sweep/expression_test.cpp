#include "study/text/expression.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace expression_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

const std::map<std::string, Operand> kValues = {
    {"ranks", Operand::number(8 * kOne)},
    {"microbatches", Operand::number(32 * kOne)},
    {"costs.forward", Operand::number(1'500'000'000)},
    {"costs.backward.3", Operand::number(2 * kOne)},
    {"schedule", Operand::of_text("zb-h1")},
    {"none", Operand::of_text("")},
};

/// The value as JSON, or the error.
std::string value(const std::string& text) {
  try {
    const Expression expression = Expression::parse(text, Where{"g", 1, 2});
    return expression.evaluate([&](std::size_t i) { return kValues.at(expression.keys()[i]); }).json();
  } catch (const InputError& error) {
    return error.line();
  }
}

std::string times(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("expressions calculate with exact decimals") {
  CHECK(value("8*ranks") == "64");
  CHECK(value("0.1 + 0.2") == "0.3");
  CHECK(value("0.1 + 0.2 == 0.3") == "1");
  CHECK(value("costs.forward * 2") == "3");
  CHECK(value("costs.backward.3 - 2.25") == "-0.25");
  CHECK(value("1 / 3") == "0.333333333");
  CHECK(value("2 / 3") == "0.666666667");
  CHECK(value("-2 / 3") == "-0.666666667");
  CHECK(value("1e3 + 2.5E-3") == "1000.0025");
  CHECK(value("80e9 * 1024") == "81920000000000");  // bytes of a cluster
  // Halves of the last place go to the even one: 1e-9 / 2 = 0.5e-9 -> 0, 3e-9 / 2 = 1.5e-9 -> 2e-9.
  CHECK(value("1e-9 / 2") == "0");
  CHECK(value("3e-9 / 2") == "0.000000002");
  CHECK(value("5e-9 * 0.5") == "0.000000002");
  CHECK(value("1000000000.000000007 * 0.5") == "500000000.000000004");
}

TEST_CASE("a remainder has the sign of what is divided") {
  CHECK(value("7 % 4") == "3");
  CHECK(value("-7 % 4") == "-3");
  CHECK(value("7.5 % 2") == "1.5");
  CHECK(value("microbatches % ranks == 0") == "1");
}

TEST_CASE("operators bind as in C") {
  CHECK(value("2 + 3 * 4") == "14");
  CHECK(value("(2 + 3) * 4") == "20");
  CHECK(value("20 - 3 - 2") == "15");
  CHECK(value("24 / 4 / 2") == "3");
  CHECK(value("-2 * -3") == "6");
  CHECK(value("--2") == "2");
  CHECK(value("1 + 1 == 2") == "1");
  CHECK(value("1 < 2 == 2 > 1") == "1");
  CHECK(value("0 && 0 || 1") == "1");
  CHECK(value("1 || 1 && 0") == "1");
  CHECK(value("!0 && !(1 > 2)") == "1");
  CHECK(value("!5") == "0");
  CHECK(value("3 <= 3 && 3 >= 3 && !(3 < 3) && !(3 > 3) && 3 != 4") == "1");
}

TEST_CASE("texts are compared, never calculated with") {
  CHECK(value("schedule == 'zb-h1'") == "1");
  CHECK(value("schedule != 'gpipe' && ranks > 4") == "1");
  CHECK(value("schedule") == "\"zb-h1\"");
  CHECK(value("schedule == 1") == "0");
  CHECK(value("'' || none") == "0");
  CHECK(value("schedule + 1") ==
        "g:1:2: error: expression 'schedule + 1': the text 'zb-h1' stands where + needs a number; texts take "
        "== and != only");
  CHECK(value("1 < 'a'") ==
        "g:1:2: error: expression '1 < 'a'': the text 'a' stands where < needs a number; texts take == and "
        "!= only");
  CHECK(value("-'a'") ==
        "g:1:2: error: expression '-'a'': the text 'a' stands where - needs a number; texts take == and != "
        "only");
}

TEST_CASE("and and or stop where the left side decides") {
  CHECK(value("0 && 1 / 0") == "0");
  CHECK(value("5 || 1 / 0") == "1");
  CHECK(value("2 && 3") == "1");
  CHECK(value("0 || 3") == "1");
  CHECK(value("1 && 1 / 0") ==
        "g:1:2: error: expression '1 && 1 / 0': 1 / 0 has no value; ask first, as in x != 0 && 1 / x < 2");
  CHECK(value("1 % 0") ==
        "g:1:2: error: expression '1 % 0': 1 % 0 has no value; ask first, as in x != 0 && 1 / x < 2");
}

TEST_CASE("keys are listed once, in order of first use") {
  const Expression expression = Expression::parse("ranks * chunks + ranks - costs.backward_input.3", {});
  CHECK(expression.keys() == std::vector<std::string>{"ranks", "chunks", "costs.backward_input.3"});
  CHECK(Expression::parse("8-ranks", {}).keys() == std::vector<std::string>{"ranks"});
}

TEST_CASE("what is no expression is refused where it goes wrong") {
  CHECK(value("") ==
        "g:1:2: error: expression '', character 1: found the end; a number, a 'text', a key, '(', '!' "
        "or '-' must stand here");
  CHECK(value("8 ranks") ==
        "g:1:2: error: expression '8 ranks', character 3: found 'ranks'; an operator or the end "
        "must follow here");
  CHECK(value("8ranks").find("character 2: found 'ranks'; an operator must stand between") !=
        std::string::npos);
  CHECK(value("(1").find("character 3: found the end; ')' must close") != std::string::npos);
  CHECK(value("1)").find("character 2: found ')'") != std::string::npos);
  CHECK(value("1 = 1").find("character 3: found '= 1'") != std::string::npos);
  CHECK(value("'abc").find("a text ends with another '") != std::string::npos);
  CHECK(value("a..b").find("names joined by dots") != std::string::npos);
  CHECK(value("a.").find("names joined by dots") != std::string::npos);
  CHECK(value("1.").find("decimals with at most nine places") != std::string::npos);
  CHECK(value("0.0000000001").find("decimals with at most nine places") != std::string::npos);
  CHECK(value("1e19").find("decimals with at most nine places") != std::string::npos);
  CHECK(value("NaN == NaN && 1e999").find("character 15") != std::string::npos);
  CHECK(value("1 + \x01").find('\x01') == std::string::npos);
}

TEST_CASE("short forms mean what their long forms do") {
  for (const auto& [text, expected] :
       std::map<std::string, std::string>{{"ranks:8", "1"},
                                          {"ranks = 8", "1"},
                                          {"ranks:4,6", "0"},
                                          {"ranks:4-8", "1"},
                                          {"ranks:4,7-9", "1"},
                                          {"ranks:9-16 or microbatches:32", "1"},
                                          {"schedule:zb-h1,1f1b", "1"},
                                          {"schedule:1f1b", "0"},
                                          {"schedule:'zb-h1' ranks:8", "1"},
                                          {"ranks:8 microbatches:16", "0"},
                                          {"ranks:8 and not microbatches:16", "1"},
                                          {"not ranks == 4", "1"},
                                          {"ranks == 8 -microbatches:16", "1"},
                                          {"-(ranks == 8)", "0"},
                                          {"ranks > 4 (microbatches > 40 or ranks:8)", "1"},
                                          {"ranks:4 OR ranks:8", "1"}}) {
    CAPTURE(text);
    CHECK(value(text) == expected);
  }
  // Only conditions stand side by side: a key or a number alone is a slip.
  CHECK(value("ranks == 8 microbatches").find("character 12: found 'microbatches'; an operator or the end") !=
        std::string::npos);
  CHECK(value("ranks ranks:8").find("character 7: found 'ranks:8'; an operator or the end") !=
        std::string::npos);
  CHECK(value("ranks:").find("a value must follow") != std::string::npos);
  CHECK(value("ranks:8-4").find("a range must go up") != std::string::npos);
}

TEST_CASE("numbers of bytes and times may have units") {
  const auto in_ms = [](const std::string& text) {
    const Expression expression = Expression::parse(text, Where{"g"}, {.unit = TimeUnit::Millisecond});
    return expression.evaluate([](std::size_t) { return Operand::number(0); }).json();
  };
  CHECK(value("60GB") == "60000000000");
  CHECK(value("1GiB") == "1073741824");
  CHECK(value("1.5kb * 2") == "3000");
  CHECK(in_ms("2ms") == "2");
  CHECK(in_ms("1.5s + 250us") == "1500.25");
  CHECK(in_ms("7ns == 0.000007") == "1");
  CHECK(value("2ms") ==
        "g:1:2: error: expression '2ms', character 1: found '2ms'; times have no unit here; give the number "
        "alone");
  CHECK(value("2 ms").find("an operator or the end must follow") != std::string::npos);
}

TEST_CASE("results beyond the largest number are refused") {
  CHECK(value("9e18 + 9e18") ==
        "g:1:2: error: expression '9e18 + 9e18': 9000000000000000000 + 9000000000000000000 is beyond 9.2e18, "
        "the largest number; use smaller ones");
  CHECK(value("9e18 * 9e18").find("is beyond 9.2e18") != std::string::npos);
  CHECK(value("0 - 9e18 * 1.5").find("is beyond 9.2e18") != std::string::npos);
  CHECK(value("9e18 / 0.5").find("is beyond 9.2e18") != std::string::npos);
  CHECK(value("9e18 * 0.5") == "4500000000000000000");
}

TEST_CASE("expressions are at most 64 deep and 4096 long") {
  CHECK(value(times("(", 64) + "1" + times(")", 64)) == "1");
  CHECK(value(times("(", 65) + "1" + times(")", 65)).find("may be 64 deep") != std::string::npos);
  CHECK(value(times("-", 64) + "1") == "1");
  CHECK(value(times("!", 65) + "1").find("may be 64 deep") != std::string::npos);
  CHECK(value("1" + times("+1", 2047)) == "2048");
  CHECK(value(times("1+", 2047) + " 1") == "2048");
  CHECK(value(times(" ", 4096) + "1") == "g:1:2: error: expression '" + times(" ", 19) + "..." +
                                             times(" ", 17) +
                                             "1' has 4097 characters; "
                                             "at most 4096 are allowed");
}

TEST_CASE("plain decimal text is one for all spellings") {
  const auto plain = [](const char* text) { return plain_decimal(text).value_or("refused"); };
  CHECK(plain("1.50") == "1.5");
  CHECK(plain("15e-1") == "1.5");
  CHECK(plain("0.15E+1") == "1.5");
  CHECK(plain("-0.0") == "0");
  CHECK(plain("8.0") == "8");
  CHECK(plain("1e2") == "100");
  CHECK(plain("-1200") == "-1200");
  CHECK(plain("1e-12") == "0.000000000001");
  CHECK(plain("123.4560e1") == "1234.56");
  CHECK(plain("1e40") == "1" + times("0", 40));
  CHECK(plain("1e300") == "refused");
  CHECK(plain("1e-300") == "refused");
  CHECK(plain("0e99999999999999999999") == "0");
  for (const char* text : {"", "-", "01", "1.", ".5", "1e", "+1", "NaN", "Infinity", "0x1", "1 "}) {
    CAPTURE(text);
    CHECK(plain(text) == "refused");
  }
}

}  // namespace expression_test
