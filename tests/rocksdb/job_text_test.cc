#include "job_text.h"

#include <gtest/gtest.h>

#include "util/testing.h"

namespace sluice::rocks {
namespace {

using namespace std::string_literals;

const std::string kVersion = "\x01\0\0\0"s;

TEST(JobText, TakesFieldsApart) {
  Fields fields;
  ASSERT_TRUE(ParseFields("a=1;b={c=2;d={e=3;};};f=;", &fields).ok());
  EXPECT_EQ(fields, (Fields{{"a", "1"}, {"b", "{c=2;d={e=3;};}"}, {"f", ""}}));
}

TEST(JobText, RefusesMalformedFields) {
  Fields fields;
  for (const std::string text : {"a", "a=1", "a={1;", "a=1};", "a=1;a=2;", ";", "a=}{;"}) {
    EXPECT_FALSE(ParseFields(text, &fields).ok()) << text;
  }
}

TEST(JobText, ReadsWhatRocksDb7Sends) {
  JobInput input;
  ASSERT_TRUE(ParseJobInput(
                  kVersion + "column_family={name=6366;options={a=b;c={d=e;};};};"
                             "db_options={x=y;};db_id=AB;snapshots=7:3:7;output_level=2;"
                             "input_files=3031:3233;has_begin=true;begin=00FF;has_end=false;end=;",
                  &input)
                  .ok());
  EXPECT_EQ(input.family, "cf");
  EXPECT_EQ(input.snapshots, (std::vector<SequenceNumber>{3, 7}));
  EXPECT_EQ(input.files, (std::vector<std::string>{"01", "23"}));
  EXPECT_EQ(input.output_level, 2);
  EXPECT_TRUE(input.has_begin);
  EXPECT_FALSE(input.has_end);
  EXPECT_EQ(input.begin, "\0\xff"s);
}

TEST(JobText, DeclinesWhatItDoesNotKnow) {
  const std::string sound = "cf_name=6366;input_files=3031;";
  JobInput input;
  EXPECT_TRUE(ParseJobInput(kVersion + sound, &input).ok());
  EXPECT_FALSE(ParseJobInput("\x02\0\0\0"s + sound, &input).ok());
  EXPECT_FALSE(ParseJobInput("", &input).ok());
  for (const std::string more :
       {"new_field=1;", "snapshots=x;", "snapshots=1:;2;", "output_level=;", "has_begin=1;",
        "begin=0;", "begin=XY;", "cf_name=63;"}) {
    EXPECT_FALSE(ParseJobInput(kVersion + sound + more, &input).ok()) << more;
  }
  EXPECT_FALSE(ParseJobInput(kVersion + "cf_name=6366;", &input).ok());
  EXPECT_FALSE(ParseJobInput(kVersion + "input_files=3031;", &input).ok());
}

// Whatever the bytes, an answer.
TEST(JobText, RandomBytesAreNoTrouble) {
  TestRandom random(TestSeed());
  const std::string sound = kVersion +
                            "column_family={name=6366;options={a=b;};};snapshots=7:3;"
                            "input_files=3031:3233;has_begin=true;begin=00FF;";
  for (int round = 0; round < 20000; ++round) {
    std::string text = sound;
    for (uint64_t i = Uniform(&random, 1, 4); i-- > 0;) {
      constexpr std::string_view kBytes = "{}=;:0Af\xff";
      text[Uniform(&random, 0, text.size() - 1)] = kBytes[Uniform(&random, 0, kBytes.size() - 1)];
    }
    text.resize(Uniform(&random, 0, text.size()));
    JobInput input;
    (void)ParseJobInput(text, &input);
  }
}

}  // namespace
}  // namespace sluice::rocks
