import java.time.Instant;
import java.time.OffsetDateTime;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.functions.ScalarFunction;

/** Runs SQL statements on a local Flink: FlinkJob PARALLELISM CHECKPOINT_MS STATEMENT... */
public final class FlinkJob {
    private FlinkJob() {}

    /** Reads a time with any offset; Flink's JSON format reads only those that end in Z. */
    public static final class IsoTime extends ScalarFunction {
        public @DataTypeHint("TIMESTAMP_LTZ(6)") Instant eval(String text) {
            return text == null ? null : OffsetDateTime.parse(text).toInstant();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("parallelism.default", arguments[0]);
        settings.setString("execution.checkpointing.interval", arguments[1] + " ms");
        settings.setString("table.local-time-zone", "UTC");
        settings.setString("restart-strategy.type", "none");
        TableEnvironment tables =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance()
                                .inStreamingMode()
                                .withConfiguration(settings)
                                .build());
        tables.createTemporarySystemFunction("ISO_TIME", IsoTime.class);
        TableResult last = null;
        for (int i = 2; i < arguments.length; i++) {
            last = tables.executeSql(arguments[i]);
        }
        last.await();
    }
}
