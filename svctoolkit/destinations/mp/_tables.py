"""Mixpanel's reserved properties, and where they come from."""

from __future__ import annotations

from svctoolkit.mapping import CITY, COUNTRY, FIRST_NAME, IP, LAST_NAME, USER_ID, Table, string, trait

EVENT = Table(
    {
        "ip": IP,
        "$user_id": USER_ID,
        "campaign_id": "context.campaign.name",
        "$current_url": "context.page.url",
        "$referrer": "context.page.referrer",
        "$os": "context.os.name",
        "$os_version": "context.os.version",
        "$screen_height": "context.screen.height",
        "$screen_width": "context.screen.width",
        "$screen_dpi": "context.screen.density",
        "$carrier": "context.network.carrier",
        "$wifi": "context.network.wifi",
        "$bluetooth_enabled": "context.network.bluetooth",
        "$device": "context.device.name",
        "$manufacturer": "context.device.manufacturer",
        "$model": "context.device.model",
        "mp_device_model": "context.device.model",
        "mp_lib": "context.library.name",
        "$initial_referrer": "context.page.initial_referrer",
        "$initial_referring_domain": "context.page.initial_referring_domain",
        "$app_name": "context.app.name",
        "$app_namespace": "context.app.namespace",
        "$app_build_number": "context.app.build",
        "$app_version_string": "context.app.version",
        "$session_id": string("context.sessionId"),
    }
)
PERSON = Table(
    {
        "$created": trait("createdAt"),
        "$email": trait("email"),
        "$first_name": FIRST_NAME,
        "$last_name": LAST_NAME,
        "$name": trait("name"),
        "$username": trait("username", "userName"),
        "$phone": trait("phone"),
        "$avatar": trait("avatar"),
        "$country_code": COUNTRY,
        "$city": CITY,
        "$region": trait("state", "region", "address.state", "address.region"),
        "$unsubscribed": trait("unsubscribed"),
        "$geo_source": "context.location.geoSource",
        "$latitude": "context.location.latitude",
        "$longitude": "context.location.longitude",
        "$timezone": "context.location.timezone",
        "$carrier": "context.network.carrier",
        "$wifi": "context.network.wifi",
        "$manufacturer": "context.device.manufacturer",
        "$model": "context.device.model",
        "$screen_height": "context.screen.height",
        "$screen_width": "context.screen.width",
        "$initial_referrer": "context.page.initial_referrer",
        "$initial_referring_domain": "context.page.initial_referring_domain",
        "$os": "context.os.name",
    }
)
ADDRESS = Table({"$ip": IP})
#: What the push notifications of each platform need; only sent with a device token.
DEVICE = {
    "android": Table(
        {
            "$android_model": "context.device.model",
            "$android_os_version": "context.os.version",
            "$android_manufacturer": "context.device.manufacturer",
            "$android_app_version": "context.app.version",
            "$android_app_version_code": "context.app.build",
            "$android_brand": "context.device.manufacturer",
        }
    ),
    "ios": Table(
        {
            "$ios_device_model": "context.device.model",
            "$ios_version": "context.os.version",
            "$ios_app_release": "context.app.version",
            "$ios_app_version": "context.app.build",
        }
    ),
}
