import java.sql.*;

/** What tools that use JDBC do: look at the metadata, ask with parameters, read in parts. */
public class Clients {
    static int rows(ResultSet found) throws SQLException {
        int count = 0;
        while (found.next()) count++;
        return count;
    }

    public static void main(String[] given) throws Exception {
        try (Connection clinic = DriverManager.getConnection(given[0], given[1], given[2])) {
            DatabaseMetaData about = clinic.getMetaData();
            System.out.println("tables " + rows(about.getTables(null, "public", "%", new String[] {"TABLE"})));
            try (ResultSet columns = about.getColumns(null, "public", "visits", "%")) {
                while (columns.next())
                    System.out.println(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME") + " " + columns.getString("REMARKS"));
            }
            System.out.println("keys " + rows(about.getPrimaryKeys(null, "public", "visits"))
                + rows(about.getImportedKeys(null, "public", "visits"))
                + rows(about.getIndexInfo(null, "public", "visits", false, true)));
            System.out.println("types " + (rows(about.getTypeInfo()) > 10) + " " + about.getSQLKeywords());
            PreparedStatement asked = clinic.prepareStatement(
                "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM public.visits WHERE ward <> ? AND cost < ? GROUP BY ward");
            for (int time = 0; time < 7; time++) {  // from the sixth on, as a named statement and in binary
                asked.setString(1, "C");
                asked.setDouble(2, 1000);
                try (ResultSet answer = asked.executeQuery()) {
                    StringBuilder line = new StringBuilder("answer");
                    while (answer.next()) line.append(" ").append(answer.getString(1)).append(answer.getLong(2)).append(answer.getDouble(3) >= 0);
                    System.out.println(line);
                }
            }
            System.out.println(asked.getMetaData().getColumnTypeName(2));
            clinic.setAutoCommit(false);
            Statement parts = clinic.createStatement();
            parts.setFetchSize(1);
            System.out.println("parts " + rows(parts.executeQuery("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")));
            clinic.commit();
            try {
                parts.executeQuery("SELECT * FROM visits");
            } catch (SQLException refused) {
                System.out.println("refused " + refused.getSQLState());
            }
            clinic.rollback();
            System.out.println("valid " + clinic.isValid(5));
        }
    }
}
