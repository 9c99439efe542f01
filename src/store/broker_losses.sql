SELECT name, detail, raised_at FROM broker_loss WHERE over_at IS NULL ORDER BY name
