#include "row_schemas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "util/testing.h"

namespace sluice::mariadb {
namespace {

constexpr Packing kFour{Packing::Kind::kFixed, 4};
constexpr Packing kText{Packing::Kind::kPrefixed, 2};

// What Encode says is decoded again.
void CheckEncoding(const RowSchemas& schemas, size_t columns) {
  RowSchemas again(0);
  ASSERT_TRUE(RowSchemas::Decode(schemas.Encode(), columns, &again));
  ASSERT_EQ(again.current(), schemas.current());
  for (size_t i = 0; i <= schemas.current(); ++i) {
    EXPECT_EQ(*again.Find(i), *schemas.Find(i));
  }
}

TEST(RowSchemasTest, ColumnsAtTheEndMakeNoNewSchema) {
  RowSchemas schemas(2);
  EXPECT_EQ(schemas.Encode(), "");
  schemas.Alter({{0, {}}, {1, {}}}, 4);
  EXPECT_EQ(schemas.current(), 0U);
  EXPECT_EQ(schemas.Find(0)->size(), 4U);
  EXPECT_EQ(schemas.Encode(), "");
  CheckEncoding(schemas, 4);
}

TEST(RowSchemasTest, DroppedColumnsAreTellable) {
  RowSchemas schemas(3);
  schemas.Alter({{0, {}}, {std::nullopt, kText}, {1, {}}}, 2);
  ASSERT_EQ(schemas.current(), 1U);
  EXPECT_EQ(*schemas.Find(0), (Schema{{0, {}}, {std::nullopt, kText}, {1, {}}}));
  EXPECT_EQ(*schemas.Find(1), (Schema{{0, {}}, {1, {}}}));
  EXPECT_EQ(schemas.Find(2), nullptr);
  CheckEncoding(schemas, 2);
  // A wider one: rows of both have it as it was; and then it is dropped, too.
  schemas.Alter({{0, kFour}, {1, {}}}, 2);
  EXPECT_EQ(*schemas.Find(1), (Schema{{0, kFour}, {1, {}}}));
  schemas.Alter({{std::nullopt, {Packing::Kind::kFixed, 8}}, {0, {}}}, 1);
  EXPECT_EQ(*schemas.Find(0), (Schema{{std::nullopt, kFour}, {std::nullopt, kText}, {0, {}}}));
  EXPECT_EQ(*schemas.Find(2), (Schema{{std::nullopt, {Packing::Kind::kFixed, 8}}, {0, {}}}));
  EXPECT_EQ(schemas.current(), 3U);
  CheckEncoding(schemas, 1);
}

TEST(RowSchemasTest, DamageIsFound) {
  RowSchemas schemas(3);
  schemas.Alter({{1, {}}, {std::nullopt, kText}, {0, {}}}, 2);
  const std::string good = schemas.Encode();
  RowSchemas again(0);
  EXPECT_FALSE(RowSchemas::Decode(good, 3, &again));
  EXPECT_FALSE(RowSchemas::Decode(good, 1, &again));
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(RowSchemas::Decode(good.substr(0, i), 2, &again), i == 0);
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[i] = static_cast<char>(value);
      if (RowSchemas::Decode(bad, 2, &again)) {
        EXPECT_EQ(again.Find(again.current())->size(), 2U);
      }
    }
  }
}

// Rows of random changes are followed by the names of their columns.
TEST(RowSchemasTest, ColumnsAreFollowed) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 300; ++round) {
    int names = 0;
    std::vector<int> columns(Uniform(&random, 1, 5));
    for (int& column : columns) {
      column = names++;
    }
    RowSchemas schemas(columns.size());
    std::map<size_t, std::vector<int>> written = {{0, columns}};  // by schema
    for (int step = 0; step < 6; ++step) {
      std::vector<int> next;
      const auto place = [&](int column) {
        const uint64_t at =
            Uniform(&random, 0, 1) == 0 ? next.size() : Uniform(&random, 0, next.size());
        next.insert(next.begin() + static_cast<ptrdiff_t>(at), column);
      };
      std::vector<ColumnChange> changes(columns.size());
      for (size_t i = 0; i < columns.size(); ++i) {
        if (Uniform(&random, 0, 4) == 0) {
          changes[i].packing = kText;
        } else {
          changes[i].packing = Uniform(&random, 0, 2) == 0 ? kFour : Packing{};
          place(columns[i]);
        }
      }
      for (uint64_t added = Uniform(&random, 0, 2); added > 0; --added) {
        place(names++);
      }
      for (size_t i = 0; i < columns.size(); ++i) {
        for (size_t j = 0; j < next.size(); ++j) {
          if (next[j] == columns[i]) {
            changes[i].column = j;
          }
        }
      }
      schemas.Alter(changes, next.size());
      columns = next;
      written[schemas.current()] = columns;
      CheckEncoding(schemas, columns.size());
      for (const auto& [number, row] : written) {
        const Schema& schema = *schemas.Find(number);
        ASSERT_GE(schema.size(), row.size());
        for (size_t i = 0; i < row.size(); ++i) {
          const auto here = std::find(columns.begin(), columns.end(), row[i]);
          ASSERT_EQ(schema[i].column.has_value(), here != columns.end());
          if (here != columns.end()) {
            EXPECT_EQ(*schema[i].column, static_cast<size_t>(here - columns.begin()));
          } else {
            EXPECT_NE(schema[i].packing.kind, Packing::Kind::kField);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::mariadb
