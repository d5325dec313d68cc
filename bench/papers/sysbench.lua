-- Statements of sysbench's oltp_*.lua and X-Bench's mixes, on rows of 12 and 500 bytes: an id of 8
-- bytes and a number of 4, which has an index, and two strings. sysbench --help has the options.

sysbench.cmdline.options = {
   engine = {"Storage engine", "InnoDB"},
   tables = {"Number of tables", 4},
   rows = {"Rows that each table is made with", 100000},
   mix = {"Each event is one of these statements: name=weight,...", ""},
   transaction = {"Each event is a transaction of these statements: name,name,...", ""},
   range = {"Rows in a range", 100},
   session = {"Statement that begins each connection", "DO 0"},
}

local INT = sysbench.sql.type.BIGINT
local TEXT = {sysbench.sql.type.CHAR, 250}
local definitions = {
   select = {"SELECT c FROM t%d WHERE id = ?", INT},
   range = {"SELECT c FROM t%d WHERE id BETWEEN ? AND ?", INT, INT},
   sum = {"SELECT SUM(k) FROM t%d WHERE id BETWEEN ? AND ?", INT, INT},
   order = {"SELECT c FROM t%d WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT},
   distinct = {"SELECT DISTINCT c FROM t%d WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT},
   update_index = {"UPDATE t%d SET k = k + 1 WHERE id = ?", INT},
   update = {"UPDATE t%d SET c = ? WHERE id = ?", TEXT, INT},
   delete = {"DELETE FROM t%d WHERE id = ?", INT},
   replace = {"INSERT INTO t%d (id, k, c, pad) VALUES (?, ?, ?, ?)", INT, INT, TEXT, TEXT},
   insert = {"INSERT INTO t%d (k, c, pad) VALUES (?, ?, ?)", INT, TEXT, TEXT},
}

-- Made once: on a machine of few cores, the client is to cost little beside the server.
local texts = {}

local function text()
   local i = sysbench.rand.uniform(1, 256)
   if texts[i] == nil then
      texts[i] = sysbench.rand.string(string.rep("###########-", 20) .. "##########")
   end
   return texts[i]
end

local function id()
   return sysbench.rand.default(1, sysbench.opt.rows)
end

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query(sysbench.opt.session)
   for t = 1, sysbench.opt.tables do
      con:query(string.format(
         "CREATE TABLE t%d (id BIGINT NOT NULL PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, " ..
         "c CHAR(250) NOT NULL, pad CHAR(250) NOT NULL, KEY k (k)) ENGINE = %s CHARSET = latin1",
         t, sysbench.opt.engine))
      if sysbench.opt.engine ~= "BLACKHOLE" then
         con:bulk_insert_init(string.format("INSERT INTO t%d (k, c, pad) VALUES", t))
         for i = 1, sysbench.opt.rows do
            con:bulk_insert_next(string.format(
               "(%d, '%s', '%s')", sysbench.rand.uniform(1, sysbench.opt.rows), text(), text()))
         end
         con:bulk_insert_done()
      end
   end
end

-- What a statement's parameters are, for a row of this id.
local function values(name, row)
   if name == "range" or name == "sum" or name == "order" or name == "distinct" then
      return row, row + sysbench.opt.range - 1
   elseif name == "update" then
      return text(), row
   elseif name == "insert" then
      return id(), text(), text()
   elseif name == "replace" then
      return row, id(), text(), text()
   end
   return row
end

local steps = {}    -- names of a transaction's statements
local choices = {}  -- pairs of a name, and the weights up to it
local weights = 0
local statements = {}  -- by name and table

function thread_init()
   con = sysbench.sql.driver():connect()
   con:query(sysbench.opt.session)
   for name in sysbench.opt.transaction:gmatch("[^,]+") do
      table.insert(steps, name)
   end
   for name, weight in sysbench.opt.mix:gmatch("([%w_]+)=(%d+)") do
      weights = weights + tonumber(weight)
      table.insert(choices, {name, weights})
   end
   local names = {}
   for _, name in ipairs(steps) do names[name] = true end
   for _, choice in ipairs(choices) do names[choice[1]] = true end
   for name in pairs(names) do
      statements[name] = {}
      for t = 1, sysbench.opt.tables do
         local definition = definitions[name]
         local statement = con:prepare(string.format(definition[1], t))
         local parameters = {}
         for i = 2, #definition do
            local kind = definition[i]
            parameters[i - 1] = type(kind) == "table" and statement:bind_create(kind[1], kind[2])
               or statement:bind_create(kind)
         end
         statement:bind_param(unpack(parameters))
         statements[name][t] = {statement = statement, parameters = parameters}
      end
   end
end

local function execute(name, t, row)
   local prepared = statements[name][t]
   for i, value in ipairs({values(name, row)}) do
      prepared.parameters[i]:set(value)
   end
   prepared.statement:execute()
end

local function choose()
   local at = sysbench.rand.uniform(1, weights)
   for _, choice in ipairs(choices) do
      if at <= choice[2] then
         return choice[1]
      end
   end
end

function event()
   local t = sysbench.rand.uniform(1, sysbench.opt.tables)
   if #steps == 0 then
      execute(choose(), t, id())
      return
   end
   con:query("BEGIN")
   local row
   for _, name in ipairs(steps) do
      row = name == "replace" and row or id()  -- what was deleted before
      execute(name, t, row)
   end
   con:query("COMMIT")
end
