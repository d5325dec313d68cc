-- The insert benchmark (iibench): purchases, of which most of the work is to keep three indexes whose entries come in
-- no order. An event is one INSERT of many rows.

sysbench.cmdline.options = {
   engine = {"Storage engine", "InnoDB"},
   batch = {"Rows of an INSERT", 1000},
   session = {"Statement that begins each connection", "DO 0"},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query(
      "CREATE TABLE purchases (transactionid BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, dateandtime DATETIME, " ..
      "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price FLOAT NOT NULL, " ..
      "data VARCHAR(4000), KEY marketsegment (price, customerid), " ..
      "KEY registersegment (cashregisterid, price, customerid), KEY pdc (price, dateandtime, customerid)) " ..
      "ENGINE = " .. sysbench.opt.engine .. " CHARSET = latin1")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   con:query(sysbench.opt.session)
end

local CUSTOMERS, REGISTERS, PRODUCTS = 100000, 1000, 10000
local MOST_PRICE = 500

function event()
   local uniform = sysbench.rand.uniform
   local rows = {}
   for i = 1, sysbench.opt.batch do
      local customer = uniform(0, CUSTOMERS - 1)
      local price = (uniform(0, 1000000) / 1000000 * MOST_PRICE + customer) / 100
      rows[i] = string.format("(NOW(),%d,%d,%d,%.2f,'%s')", uniform(0, REGISTERS - 1), customer,
         uniform(0, PRODUCTS - 1), price, sysbench.rand.string("@@@@@@@@@@"))
   end
   con:query("INSERT INTO purchases (dateandtime, cashregisterid, customerid, productid, price, data) VALUES " ..
      table.concat(rows, ","))
end
